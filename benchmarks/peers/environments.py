"""Peers that need packages of their own get a virtual environment each, below build/, made on request."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "peers"
ENVIRONMENTS = {
    "ray": ["ray==2.60.0", "torch==2.13.0", "numpy==2.4.6"],
    "tensorflow": ["tensorflow-cpu==2.21.0"],
}


def python(environment: str | None) -> Path | None:
    """The interpreter of a system; None: its environment is not there."""
    if environment is None:
        return Path(sys.executable)
    found = PLACE / environment / "bin" / "python"
    return found if (PLACE / environment / "made").exists() and found.exists() else None


def install(wanted: Iterable[str]) -> None:
    """Make those that are not there. Raises: CalledProcessError, with pip's words on stderr."""
    for name in wanted:
        if python(name):
            continue
        folder = PLACE / name
        shutil.rmtree(folder, ignore_errors=True)
        print(f"installing {', '.join(ENVIRONMENTS[name])} into {folder.relative_to(ROOT)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *ENVIRONMENTS[name]], check=True)
        (folder / "made").touch()  # at last: an install that was cut off is made anew
