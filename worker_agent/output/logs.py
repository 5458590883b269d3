"""The output of one process, on its way from its file to the control plane.

The process writes straight into its file, so that its output depends on no other program. The file is bounded from outside: what is
stored, and the middle of what is too much, is given back to the disk by punching holes, which moves no offset."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

CHUNK = 256 * 1024
"""Bytes in one request."""
HEAD, TAIL = 16 * 2**20, 48 * 2**20
"""Bytes of a process's output that are kept: the first and the last. The control plane stores no more either."""
STEP = 4 * 2**20
"""Bytes that may be more on the disk before the next hole is made."""
_BLOCK = 4096
_NO_FILE_OF_OURS = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EACCES, errno.EPERM)
_KEEP_SIZE, _PUNCH_HOLE = 1, 2


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    offset: int
    """Bytes of output before it."""
    size: int
    """Bytes that the text stands for."""
    omitted: int = 0
    """Bytes just before it that are left out."""

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(slots=True)
class Tail:
    """Reads `path` from `offset` on. The offset moves only when the control plane has stored what came before it."""

    path: Path
    offset: int = 0
    unwanted: bool = False
    """The control plane takes no more of it."""
    omitted_to: int = 0
    """Where what is left out ends; it begins at `HEAD`, or where `offset` was. 0: nothing is."""
    _freed: int = 0
    """Before it, all of the file is a hole."""
    _holes: bool = True
    """The disk can make some."""

    @property
    def complete(self) -> bool:
        """Everything written so far is stored."""
        return self.unwanted or self.offset >= self._size()

    def next(self, *, ended: bool) -> Chunk | None:
        """The next output, if there is any. A character that is not written to its end waits, unless the process has `ended`."""
        if self.complete:
            return None
        begin = max(self.offset, self._freed)
        begin = self.omitted_to if HEAD <= begin < self.omitted_to else begin
        end = HEAD if begin < HEAD < self.omitted_to else begin + CHUNK
        with self._opened() as file:
            block = os.pread(file, min(CHUNK, end - begin), begin) if file is not None else b""
        omitted = begin - self.offset
        if omitted and (line := block.find(b"\n") + 1) < len(block):
            begin, omitted, block = begin + line, omitted + line, block[line:]
        last = begin + len(block) == HEAD < self.omitted_to or (ended and len(block) < CHUNK)
        if not last:
            block = block[: len(block) - _unfinished(block)]
        # a zero byte is legal in UTF-8 but not in the database's text
        text = block.decode("utf-8", "replace").replace("\0", "\ufffd")
        return Chunk(text, begin, len(block), omitted) if block else None

    def bound(self) -> None:
        """Give back to the disk what is stored or unwanted, and the middle of what is too much."""
        size = self._size()
        if self.unwanted:
            self._free(0, size)
            return
        if size - TAIL - STEP > max(HEAD, self.offset, self.omitted_to):
            begin, self.omitted_to = max(HEAD, self.offset, self.omitted_to), size - TAIL
            self._punch(begin, self.omitted_to)
        self._free(self._freed, self.offset)

    def _free(self, begin: int, end: int) -> None:
        if end - self._freed >= STEP:
            self._freed = end // _BLOCK * _BLOCK
            self._punch(begin, self._freed)

    def _punch(self, begin: int, end: int) -> None:
        with self._opened() as file:
            if file is None or not self._holes:
                return
            try:
                _punch_hole(file, begin, end - begin)
            except OSError as error:
                self._holes = False
                log.warning("the output of a process cannot be bounded on this disk", file=str(self.path), why=str(error))

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """None: there is no such file. User code may have put anything in its place, even what would block."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.unwanted = error.errno in _NO_FILE_OF_OURS
            yield None
            return
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                self.unwanted = True
            yield None if self.unwanted else file
        finally:
            os.close(file)

    def _size(self) -> int:
        try:
            return os.stat(self.path, follow_symlinks=False).st_size
        except OSError:
            return 0


def _punch_hole(file: int, begin: int, size: int) -> None:
    """Raises: OSError: its disk has no holes."""
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_int(file), ctypes.c_int(_KEEP_SIZE | _PUNCH_HOLE), ctypes.c_int64(begin), ctypes.c_int64(size))
    fallocate = getattr(libc, "fallocate64", None) or libc.fallocate  # musl has one with 64 bits only
    if fallocate(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unfinished(block: bytes) -> int:
    """How many of the last bytes begin a UTF-8 character that does not end in `block`."""
    for back in range(1, min(4, len(block)) + 1):
        byte = block[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # inside a character
        wanted = 4 if byte >= 0b1111_0000 else 3 if byte >= 0b1110_0000 else 2 if byte >= 0b1100_0000 else 1
        return back if back < wanted else 0
    return 0
