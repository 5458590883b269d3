"""Removal of folders that user code has written to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def remove_folder(folder: Path) -> None:
    """As far as it can be removed, however deep it is. May take long: user code decides how much there is."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # Python's way goes down one call per level
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)
