"""The difference between submitted code and the commit that it was submitted from."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from gradstream.bundle.commit.git import Change, find_changes, find_repository, read_committed
from gradstream.bundle.credentials import credential_in

MOST_FILES = 500
MOST_TEXT = 200_000
"""Characters of all differing lines. Files beyond are named without theirs."""
LONGEST_PATH = 1000
"""Characters that the API takes."""
_LONGEST, _MOST_LINES, _MOST_LINES_IN_ALL = 1 << 20, 3_000, 30_000
"""Bytes and lines of a file that is compared line by line, and lines of all: it may take the square of the lines of a file."""


class UncommittedFile(NamedTuple):
    path: str
    change: Change
    lines: list[str] | None
    """A unified difference without names of files; None: the file was added or removed, is binary, or too long."""


def collect_uncommitted(code: Path, files: Collection[str]) -> list[UncommittedFile]:
    """Return the files that differ from the commit, by path. `files`: those that travel, by their path in the bundle.

    Files that do not travel are left out, but for those that were removed: they are named without their text. So is a file whose
    commit holds what looks like a credential. Empty, too, where git gives no answer in time. Nothing is raised."""
    folder = code if code.is_dir() else code.parent
    repository = find_repository(folder)
    changes = find_changes(repository, folder, files) if repository else None
    if repository is None or not changes:
        return []
    travelling = [path for path, change in changes.items() if change == "removed" or path in files]
    named = sorted(filter(_is_sendable, travelling))[:MOST_FILES]
    committed = read_committed(repository, folder, [path for path in named if changes[path] == "changed"], _LONGEST)
    found, left, lines_left = list[UncommittedFile](), MOST_TEXT, _MOST_LINES_IN_ALL
    for path in named:
        old, new = _lines(path, committed.get(path)), _lines(path, _read(folder / path)) if path in committed else None
        lines = None
        if old is not None and new is not None and max(len(old), len(new)) <= min(_MOST_LINES, lines_left):
            lines_left -= max(len(old), len(new))
            lines = list(difflib.unified_diff(old, new, lineterm=""))[2:]
        size = sum(map(len, lines or ()))
        found.append(UncommittedFile(path, changes[path], lines if size <= left else None))
        left -= size if size <= left else 0
    return found


def _is_sendable(path: str) -> bool:
    """git knows paths that are no text, and long ones."""
    return path.isprintable() and len(path) <= LONGEST_PATH


def _read(path: Path) -> bytes | None:
    """None: it is no file any more, a link, or too long."""
    try:
        if path.is_symlink() or path.stat().st_size > _LONGEST:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _lines(path: str, content: bytes | None) -> list[str] | None:
    """None: it is no text, or looks like a credential."""
    if content is None or b"\0" in content or credential_in(path, len(content), content):
        return None
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        return None
