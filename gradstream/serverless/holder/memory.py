"""The shared memory of a job whose one shard worker 0 holds.

| file                            | content                                             | written by                            |
|---------------------------------|-----------------------------------------------------|---------------------------------------|
| `0.0`                           | the center of all, and the vectors of worker 0      | worker 0                              |
| `0.doorbell`                    | rings for worker 0                                  | the others                            |
| `over`                          | nothing: the job is over                            | worker 0, at its end                  |
| `<rank>.<incarnation>`          | `out`, and the response if the strategy makes one   | that worker; the response by worker 0 |
| `<rank>.<incarnation>.messages` | its entries, and the responses to them              | that worker; the responses by worker 0|
| `<rank>.<incarnation>.doorbell` | rings for that worker                               | worker 0                              |

Worker 0 removes the names of an incarnation's files once it has mapped them: the memory goes with the processes that map it.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

import msgspec

from gradstream.errors import PlaneLost

MESSAGE_BYTES = 1 << 20
"""Bytes of a message: some entries or responses. The largest have the places of a worker in many partitions."""
_LENGTH = struct.Struct("<I")
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[bytes]).decode
_OF_WORKER, _OF_HOLDER = 0, MESSAGE_BYTES
"""Where in the file the messages of each side begin."""


class Messages:
    """Two messages, one each way. Each side overwrites its own when the other has rung that it was taken."""

    def __init__(self, memory: mmap.mmap, mine: int, theirs: int) -> None:
        self._memory, self._mine, self._theirs = memory, mine, theirs

    @classmethod
    def make(cls, file: Path) -> Messages:
        """Make them, as the worker that has an incarnation here. Raises: OSError."""
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(handle, 0o666)  # workers may have accounts of their own; the folder says who may enter
            os.posix_fallocate(handle, 0, 2 * MESSAGE_BYTES)
            return cls(mmap.mmap(handle, 2 * MESSAGE_BYTES), _OF_WORKER, _OF_HOLDER)
        finally:
            os.close(handle)

    @classmethod
    def open(cls, file: Path) -> Messages:
        """Open them, as worker 0. Raises: OSError."""
        handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        try:
            return cls(mmap.mmap(handle, 2 * MESSAGE_BYTES), _OF_HOLDER, _OF_WORKER)
        finally:
            os.close(handle)

    def write(self, parts: list[bytes]) -> None:
        """Raises: PlaneLost: they are too long."""
        packed = _encode(parts)
        if len(packed) > MESSAGE_BYTES - _LENGTH.size:
            raise PlaneLost(f"a message between two workers takes {len(packed):,} bytes, more than {MESSAGE_BYTES:,}")
        start = self._mine + _LENGTH.size
        self._memory[start : start + len(packed)] = packed
        _LENGTH.pack_into(self._memory, self._mine, len(packed))

    def read(self) -> list[bytes]:
        """Raises: PlaneLost: user code has written into it."""
        [length] = _LENGTH.unpack_from(self._memory, self._theirs)
        start = self._theirs + _LENGTH.size
        try:
            return _decode(self._memory[start : start + length])
        except msgspec.DecodeError as error:
            raise PlaneLost(f"a message of another worker cannot be read: something else has written into it ({error})") from error


def messages_file(folder: Path, rank: int, incarnation: int) -> Path:
    return folder / f"{rank}.{incarnation}.messages"


def doorbell_file(folder: Path, rank: int, incarnation: int) -> Path:
    return folder / f"{rank}.{incarnation}.doorbell"


def over_file(folder: Path) -> Path:
    """There from when the job is over, and worker 0 handles no more entries."""
    return folder / "over"


def holders_doorbell_file(folder: Path) -> Path:
    return folder / "0.doorbell"
