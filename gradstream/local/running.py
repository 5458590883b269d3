"""The platforms that run on this machine, whatever data folder each of them has."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from gradstream.local.folder import RUN_DIRS, DataFolder, RunningPlatform

_NOTE = "data-dir.json"


def note_running(run_dir: Path, data_dir: Path) -> None:
    """Say in the folder of its sockets, which ends with it, where a platform keeps its data."""
    (run_dir / _NOTE).write_text(json.dumps(str(data_dir)), encoding="utf-8")


def running_platforms() -> list[RunningPlatform]:
    """Return the running platforms that this user may look at."""
    found = []
    for note in sorted(Path(tempfile.gettempdir()).glob(f"{RUN_DIRS}*/{_NOTE}")):
        try:
            holder = DataFolder(Path(json.loads(note.read_text(encoding="utf-8")))).holder()
        except (OSError, ValueError, TypeError):
            continue  # it has just ended, or is somebody else's
        if holder and holder.alive:
            found.append(holder)
    return found
