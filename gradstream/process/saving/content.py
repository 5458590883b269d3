"""The content of a file that is stored: a stream that knows its length, and can be read again after trouble on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

CHUNK = 1 << 20
"""Bytes that go to the disk or the network at once."""


class Content(Protocol):
    """It must not change between two readings."""

    @property
    def nbytes(self) -> int: ...

    def chunks(self) -> Iterator[memoryview]:
        """Yield all bytes, from the beginning, at most `CHUNK` at a time."""


class TextContent:
    def __init__(self, text: str) -> None:
        self._data = memoryview(text.encode())

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    def chunks(self) -> Iterator[memoryview]:
        return in_chunks(self._data)


def in_chunks(data: memoryview) -> Iterator[memoryview]:
    """Yield views of the bytes, in order; `data` has one byte per element."""
    return (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))


def sha256_of(content: Content) -> str:
    digest = hashlib.sha256()
    for chunk in content.chunks():
        digest.update(chunk)
    return digest.hexdigest()


def sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
