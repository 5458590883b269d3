"""The difference between submitted code and the commit that it was submitted from."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from gradstream.bundle.commit.git import Change, find_changes, find_repository, read_committed

MOST_FILES = 500
MOST_TEXT = 200_000
"""Characters of all differing lines. Files beyond are named without theirs."""
_LONGEST, _MOST_LINES = 1 << 20, 3_000
"""Bytes and lines of a file that is compared line by line: that may take the square of its lines."""


class UncommittedFile(NamedTuple):
    path: str
    change: Change
    lines: list[str] | None
    """A unified difference without names of files; None: the file was added or removed, is binary, or too long."""


def collect_uncommitted(code: Path, files: Collection[str]) -> list[UncommittedFile]:
    """Return the files that differ from the commit, by path. `files`: those that travel, by their path in the bundle.

    Files that do not travel are left out, but for those that were removed: they are named without their text. Empty, too, where git
    gives no answer in time."""
    folder = code if code.is_dir() else code.parent
    repository = find_repository(folder)
    changes = find_changes(repository, folder, files) if repository else None
    if repository is None or not changes:
        return []
    told = sorted(path for path, change in changes.items() if change == "removed" or path in files)[:MOST_FILES]
    compared = [path for path in told if changes[path] == "changed" and _is_short(folder / path)]
    committed = read_committed(repository, folder, compared, _LONGEST)
    found, left = list[UncommittedFile](), MOST_TEXT
    for path in told:
        lines = _compare(committed[path], (folder / path).read_bytes()) if path in committed else None
        size = sum(map(len, lines or ()))
        found.append(UncommittedFile(path, changes[path], lines if size <= left else None))
        left -= size if size <= left else 0
    return found


def _is_short(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= _LONGEST


def _compare(before: bytes, after: bytes) -> list[str] | None:
    try:
        old, new = (content.decode().splitlines() for content in (before, after))
    except UnicodeDecodeError:
        return None
    if b"\0" in before + after or max(len(old), len(new)) > _MOST_LINES:
        return None
    return list(difflib.unified_diff(old, new, lineterm=""))[2:]
