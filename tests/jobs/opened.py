"""Commands that other accounts than ours can run: Python may lie below a home that lets only its owner in."""

from __future__ import annotations

import sys
from pathlib import Path

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
exec "$@"
"""


def closed_above(path: Path) -> Path | None:
    """The first folder on the way there that other accounts cannot enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def closed_python() -> Path | None:
    return closed_above(_python() / "bin")


def opened(home: Path, *command: str) -> tuple[str, ...]:
    """The command in a view of files of its own, which shows Python to all accounts. Takes root; `home` is a folder for it."""
    kept = home / "python"
    kept.mkdir(exist_ok=True)
    return ("unshare", "--mount", "sh", "-c", _OPEN, "sh", str(_python()), str(closed_python() or ""), str(kept), *command)


def _python() -> Path:
    return Path(sys.base_prefix).resolve()
