"""True if a file looks like a key, a token or a password: by its name, and by the beginning of its content."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from gradstream.bundle.rules import CONTENTS, CREDENTIALS, SCANNED, SCANNED_OF_TEXT, TOKEN_SIZE, TOKENS

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["SCANNED", "credential_in", "credential_in_archive", "names_credential", "read_beginning"]

_MEMBERS = 1000
"""Files of an archive that are looked at."""
_ENCRYPTED = 1
"""A flag of a file in a zip file."""
_INFLATED = 4 * 1024 * 1024
"""Bytes of all of them together."""
_COMPRESSED: dict[bytes, Callable[[BinaryIO], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""Readers of compressed files by their first bytes."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks: text of Windows programs."""


def credential_in(path: str, size: int, beginning: bytes) -> str | None:
    """Why a file is taken for a credential: `a credential, by its name`, `holds a private key (line 3)`.

    `beginning`: its first bytes, as `read_beginning` returns them."""
    if names_credential(path) or (size <= TOKEN_SIZE and _names(TOKENS).match_file(path.lower())):
        return "a credential, by its name"
    encoding = "utf-16" if beginning.startswith(_UTF_16) else "utf-8"
    text = beginning.decode(encoding, "replace").removeprefix("\ufeff")
    for what, pattern in _contents().items():
        if found := pattern.search(text):
            start = found.end() - len(found[0].lstrip())
            return f"a file with {what} in it (line {text.count(chr(10), 0, start) + 1})"
    return None


def read_beginning(file: BinaryIO) -> bytes:
    """Return as much of a file as is searched: more of text than of other files, which have a zero byte at their beginning."""
    beginning = file.read(SCANNED)
    if b"\0" in beginning and not beginning.startswith(_UTF_16):
        return beginning
    return beginning + file.read(SCANNED_OF_TEXT - SCANNED)


def credential_in_archive(file: BinaryIO) -> str | None:
    """Return why a zip file, or a compressed file or tar file, is taken for a credential: what its first members hold. None: they
    hold none, or it is no such file, or it is encrypted or damaged."""
    file.seek(0)
    magic = file.read(5)
    file.seek(0)
    try:
        for name, content in _members(file, magic):
            if (reason := credential_in(name, len(content), content)) is not None:
                what = (
                    "a credential"
                    if reason.startswith("a credential")
                    else reason.removeprefix("a file with ").partition(" in it")[0]
                )
                return f"an archive with {what} in it: {name}"
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError):
        pass  # so much of it was looked at
    return None


def _members(file: BinaryIO, magic: bytes) -> Iterator[tuple[str, bytes]]:
    """The beginnings of an archive's files, by name."""
    left = _INFLATED
    if magic.startswith(b"PK\3\4"):
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist()[:_MEMBERS]:
                content = b""
                if not info.flag_bits & _ENCRYPTED:
                    with archive.open(info) as member:
                        content = member.read(min(SCANNED, left))
                left -= len(content)
                yield info.filename, content
    for begins, opened in _COMPRESSED.items():
        if magic.startswith(begins):
            content = opened(file).read(_INFLATED)
            yield from _members_of_tar(content) if content[257:262] == b"ustar" else [("its content", content[:SCANNED_OF_TEXT])]


def _members_of_tar(content: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        while info := archive.next():
            member = archive.extractfile(info) if info.isfile() else None
            yield info.name, member.read(SCANNED) if member else b""


def names_credential(path: str) -> bool:
    """Return whether a file or folder (`.ssh/`) of this name holds credentials."""
    return _names(CREDENTIALS).match_file(path.lower())


@cache
def _names(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


@cache
def _contents() -> dict[str, re.Pattern[str]]:
    return {what: re.compile(pattern, re.MULTILINE) for what, pattern in CONTENTS.items()}
