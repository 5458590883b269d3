"""Arrays that grow in place: addresses are reserved for the most there may be, and memory is used as far as it is written."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.errors import Unavailable

MAX_PLACES = 2**31 - 2
PAGE = mmap.PAGESIZE
MAP_NORESERVE = 0x4000
"""The flag of Linux; Python 3.11 does not name it."""
SMALL_PAGES = 1 << 22
"""Bytes at the beginning of an array with pages of the usual size, so that a small table takes no more than it needs. Those behind
have pages of 2 MiB where Linux gives them: a random access to many GB waits for its page's address, too."""


class ReservedArray:
    """A one- or two-dimensional array of zeros in a mapping of its own."""

    def __init__(self, what: str, dtype: Any, shape: tuple[int, ...]) -> None:
        """`what`: for the message. Raises: Unavailable: the machine does not reserve so much."""
        nbytes = max(PAGE, int(np.prod(shape)) * np.dtype(dtype).itemsize)
        try:
            self._map = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        except OSError as error:
            raise Unavailable(
                f"{what} cannot reserve {nbytes / 1e9:,.1f} GB of addresses ({error}); give the table a smaller `capacity`"
            ) from error
        if nbytes > SMALL_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel without them
                self._map.madvise(mmap.MADV_HUGEPAGE, SMALL_PAGES, nbytes - SMALL_PAGES)
        self.values: NDArray[Any] = np.frombuffer(self._map, dtype, int(np.prod(shape))).reshape(shape)

    def release(self, first: int, count: int) -> None:
        """Make these items zero, and give their memory back to the machine where they fill whole pages."""
        size = self.values.itemsize
        start, end = first * size, (first + count) * size
        inner, outer = -(-start // PAGE) * PAGE, end // PAGE * PAGE
        if inner >= outer:
            self.values[first : first + count] = np.zeros(1, self.values.dtype)
            return
        raw = np.frombuffer(self._map, np.uint8)
        raw[start:inner] = 0
        raw[outer:end] = 0
        self._map.madvise(mmap.MADV_DONTNEED, inner, outer - inner)


def fitting_places(row_bytes: int) -> int:
    """The rows of so many bytes that the memory of this machine could hold."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(MAX_PLACES, memory // row_bytes)
