"""Looks into folders of the file store. None of them follows a symbolic link, and what goes meanwhile is no error."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    path: Path
    size: int
    changed: float
    """Seconds since 1970."""
    is_folder: bool


def entries(folder: Path) -> Iterator[Entry]:
    """Its files and folders, without anything else; nothing if it is not there or is a link."""
    if folder.is_symlink() or not folder.is_dir():
        return
    with os.scandir(folder) as found:
        for each in found:
            try:
                about = each.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            is_folder = stat.S_ISDIR(about.st_mode)
            if is_folder or stat.S_ISREG(about.st_mode):
                yield Entry(Path(each.path), about.st_size, about.st_mtime, is_folder)


def files_below(folder: Path) -> Iterator[Entry]:
    for entry in entries(folder):
        if entry.is_folder:
            yield from files_below(entry.path)
        else:
            yield entry


def count(folder: Path) -> tuple[int, int]:
    """Return how many files lie there, and their bytes."""
    sizes = [entry.size for entry in files_below(folder)]
    return len(sizes), sum(sizes)
