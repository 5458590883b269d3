"""The attacks of `test_isolation.py` once more, from jobs whose agent is not root: all are stopped at the level `namespace`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import ROOT
from tests.jobs.opened import closed_above, opened

NOBODY = 65534
_BECOME = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def as_nobody(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": "/nonexistent", "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = opened(home, *_BECOME, *command)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


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
