"""The attacks of `test_isolation.py` once more, from jobs whose agent is not root: all are stopped at the level `namespace`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import ROOT

NOBODY = 65534
_OPEN = """
set -e
python=$1 closed=$2 kept=$3
shift 3
if [ "$closed" ]; then
    mount --bind "$python" "$kept"
    mount -t tmpfs -o mode=755 none "$closed"
    mkdir -p "$python"
    mount --bind "$kept" "$python"
fi
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""
"""Python may lie below a home that lets only its owner in: show it there in a view of files of our own, and become nobody."""


def closed_above(path: Path) -> Path | None:
    """The first folder on the way there that other accounts cannot enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def as_nobody(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    python, kept = Path(sys.base_prefix).resolve(), home / "python"
    kept.mkdir(exist_ok=True)
    opened = ("unshare", "--mount", "sh", "-c", _OPEN, "sh", str(python), str(closed_above(python / "bin") or ""), str(kept))
    environment = {**os.environ, "HOME": "/nonexistent", "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([*opened, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="another account than root has tried this in test_isolation.py")
def test_no_attack_gets_anything_from_an_agent_that_is_not_root() -> None:
    """A platform of its own, all of it under an account without rights."""
    with TemporaryDirectory(dir="/tmp") as name:
        home = Path(name)
        os.chown(home, NOBODY, NOBODY)
        if as_nobody(home, "unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "true").returncode:
            pytest.skip("this machine lets only root make namespaces")
        if closed_above(ROOT / "tests"):
            pytest.skip("this checkout lies below a folder that other accounts cannot enter")
        tests = (sys.executable, "-m", "pytest", "tests/jobs/test_isolation.py", "-q", "-p", "no:cacheprovider")
        done = as_nobody(home, *tests, f"--basetemp={home / 'tests'}")
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert "skipped" not in done.stdout, done.stdout[-2000:]
