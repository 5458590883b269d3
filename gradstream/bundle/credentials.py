"""True if a file looks like a key, a token or a password: by its name, and by the beginning of its content."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from gradstream.bundle.rules import CONTENTS, CREDENTIALS, SCANNED, TOKEN_SIZE, TOKENS

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["SCANNED", "credential_in", "names_credential"]


def credential_in(path: str, size: int, beginning: bytes) -> str | None:
    """Why a file is taken for a credential: `a credential, by its name`, `holds a private key (line 3)`.

    `beginning`: the first `SCANNED` bytes of it."""
    if names_credential(path) or (size <= TOKEN_SIZE and _names(TOKENS).match_file(path.lower())):
        return "a credential, by its name"
    text = beginning.decode("utf-8", "replace").removeprefix("\ufeff")
    for what, pattern in _contents().items():
        if found := pattern.search(text):
            start = found.end() - len(found[0].lstrip())
            return f"a file with {what} in it (line {text.count(chr(10), 0, start) + 1})"
    return None


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
