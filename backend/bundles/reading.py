"""The text of the files of stored bundles, and the differences between two bundles. Bundles never change, so answers may be kept.
No database here."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from backend.bundles.schemas import BundledText
from gradstream.api.code import FileChange, FileDifference
from gradstream.bundle import MIB
from gradstream.bundle.reading import read_files
from gradstream.bundle.tarball import TarEntry
from gradstream.errors import NotFound

LONGEST = MIB
"""Bytes of a file that is shown."""
MOST_COMPARED = 8 * MIB
"""Bytes of the text of a bundle that is compared; files beyond are compared by their bytes alone."""
MOST_LINES, MOST_LINES_IN_ALL = 4_000, 40_000
"""Lines of a file whose lines are compared, and of all such files: it may take the square of their number."""


def read_text(archive: Path, path: str) -> BundledText:
    """Raises: NotFound: the bundle has no such file."""
    for name, member in read_files(archive.read_bytes()):
        if name == path:
            return BundledText(path=path, size=member.size, text=_decoded(member.read(LONGEST + 1)))
    raise NotFound(f"The code has no file '{path[:200]}'.", path=path[:200])


def differences(before: Path, after: Path) -> list[FileDifference]:
    """Return the files that only one bundle has, or that differ, by path."""
    old, new = _contents(before), _contents(after)
    found, left = list[FileDifference](), MOST_LINES_IN_ALL
    for path in sorted({*old, *new}):
        before_content, after_content = old.get(path), new.get(path)
        if before_content != after_content:
            found.append(_difference(path, before_content, after_content, min(MOST_LINES, left)))
            left = max(0, left - max((before_content or b"").count(b"\n"), (after_content or b"").count(b"\n")))
    return found


def _contents(archive: Path) -> Mapping[str, bytes]:
    """Return the files by path: their bytes, or the hash of those that are long."""
    return dict(_read(archive))


def _read(archive: Path) -> Iterator[tuple[str, bytes]]:
    left = MOST_COMPARED
    for path, member in read_files(archive.read_bytes()):
        if member.size <= min(LONGEST, left):
            left -= member.size
            yield path, member.read(member.size)
        else:
            yield path, b"\0" + _digest(member)


def _digest(member: TarEntry) -> bytes:
    found = hashlib.sha256()
    while block := member.read(MIB):
        found.update(block)
    return found.digest()


def _difference(path: str, before: bytes | None, after: bytes | None, most: int) -> FileDifference:
    """`most`: lines that may be compared."""
    change: FileChange = "added" if before is None else "removed" if after is None else "changed"
    old, new = (None if content is None else _decoded(content) for content in (before, after))
    if (before is not None and old is None) or (after is not None and new is None):
        return FileDifference(path=path, change=change, lines=None)
    return FileDifference(path=path, change=change, lines=_lines(old or "", new or "", most))


def _lines(old: str, new: str, most: int) -> list[str] | None:
    """Return a unified difference without the names of files; None: it would take too long."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > most:
        return None
    return list(difflib.unified_diff(before, after, lineterm=""))[2:]


def _decoded(content: bytes) -> str | None:
    """Return its text; None: it is longer than what is shown, or no text in UTF-8."""
    if len(content) > LONGEST or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
