"""Numbered folders for the runs of `gradstream train`: `<job name>.out/1`, `2`, ... None is ever used twice."""

from __future__ import annotations

import os
from pathlib import Path

from gradstream import marker
from gradstream.errors import Conflict


def next_run(parent: Path) -> Path:
    """Make the folder of the next run, empty; two that ask at once get two.

    Raises: Conflict: `parent` is there and Gradstream did not make it."""
    if parent.exists():
        names = os.listdir(parent) if parent.is_dir() else ["itself"]
        if names and marker.kind_of(parent, names) != "training":
            raise Conflict(f"{parent} is there and holds no training runs; choose a folder for this run with --out FOLDER")
    parent.mkdir(parents=True, exist_ok=True)
    if marker.read_marker(parent) is None:
        marker.write_marker(parent, "training")
    number = max((int(path.name) for path in parent.iterdir() if path.name.isdecimal()), default=0)
    while True:
        number += 1
        try:
            (parent / str(number)).mkdir()
        except FileExistsError:
            continue
        return parent / str(number)


def drop_if_unused(folder: Path) -> None:
    """Remove the folder of a run that was refused before it began."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
