"""True if a file looks like a key, a token or a password: by its name, and by the beginning of its content."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

from gradstream.bundle.rules import CONTENTS, CREDENTIALS, SCANNED, SCANNED_OF_TEXT, TOKEN_SIZE, TOKENS

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["SCANNED", "credential_in", "names_credential", "read_beginning"]

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
