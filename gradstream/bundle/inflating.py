"""The bytes that a gzip file decompresses to, read once from front to back, within `limits`."""

from __future__ import annotations

import zlib

from gradstream.bundle import limits
from gradstream.bundle.limits import MIB
from gradstream.errors import InvalidBundle

_CHUNK = 16 * 1024
"""Bytes given to zlib at a time; what it leaves of them is copied at every read."""
_GZIP = 16 + zlib.MAX_WBITS


def damaged(why: str) -> InvalidBundle:
    return InvalidBundle(f"not a whole gzip-compressed tar file: {why}")


class Inflated:
    """Decompresses as it is read, so a bomb is noticed before it fills memory. One gzip member only: each costs time, also an
    empty one. Every read asks zlib, as `gzip.GzipFile` reads a header byte by byte."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0
        self._zlib = zlib.decompressobj(_GZIP)
        self.left = limits.MAX_UNPACKED
        """Bytes that may still come."""

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer at the end only. Raises: InvalidBundle: damaged, or more than is allowed."""
        blocks = []
        while size > 0 and (block := self._next(min(size, MIB))):
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)

    def skip(self, size: int) -> None:
        """Raises: InvalidBundle, also where there are fewer bytes."""
        while size > 0:
            block = self._next(min(size, MIB))
            if not block:
                raise damaged("it ends within a file")
            size -= len(block)

    def finish(self) -> None:
        """Read to the end, where gzip has a checksum. Raises: InvalidBundle."""
        while self._next(MIB):
            pass
        if len(self._zlib.unused_data) + len(self._data) - self._at:
            raise damaged("something follows its end; pack it in one piece, as `tar -czf` does")

    def _next(self, size: int) -> bytes:
        """At least one byte, unless this is the end."""
        block = b""
        while not block and not self._zlib.eof:
            given = self._zlib.unconsumed_tail or self._data[self._at : self._at + _CHUNK]
            if not self._zlib.unconsumed_tail:
                self._at += len(given)
            try:
                block = self._zlib.decompress(given, size)
            except zlib.error as error:
                raise damaged(str(error)) from error
            if not block and not given and not self._zlib.eof:
                raise damaged("it is cut short")
        self.left -= len(block)
        if self.left < 0:
            raise InvalidBundle(f"it unpacks to more than {limits.MAX_UNPACKED // MIB} MiB")
        return block
