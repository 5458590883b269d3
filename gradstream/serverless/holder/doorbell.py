"""The doorbell of a process: a named pipe into which others write that a message lies in shared memory, or was taken from there.

A ring follows when its message is complete, through the kernel. So a process that dies has sent a message whole or not at all.

| bytes | meaning                                                |
|-------|--------------------------------------------------------|
| 4     | the rank that rings                                    |
| 4     | its incarnation                                        |
| 8     | messages that it has written for the doorbell's owner  |
| 8     | messages of the owner that it has taken                |
"""

from __future__ import annotations

import errno
import os
import select
import struct
import time
from pathlib import Path
from typing import NamedTuple

from gradstream.errors import PlaneLost

_RING = struct.Struct("<IIQQ")
_NOT_THERE = (errno.ENOENT, errno.ENXIO, errno.EACCES)
"""It is not made yet, or its owner is gone."""
_RETRY_INTERVAL = 0.001
_FULL_TIMEOUT = 30.0
"""Seconds for which a full pipe is tried again: a process has at most a few rings of each other one to read."""


class Ring(NamedTuple):
    rank: int
    incarnation: int
    written: int
    taken: int


_WAKE = Ring(0, 0, 0, 0)


class Doorbell:
    def __init__(self, file: Path) -> None:
        """Raises: OSError."""
        os.mkfifo(file, 0o600)
        self._handle = os.open(file, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)  # also for writing: so it never ends
        os.fchmod(self._handle, 0o666)  # workers may have accounts of their own; the folder says who may enter
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)

    def wait(self, seconds: float) -> list[Ring]:
        """Return the rings that have come, waiting up to `seconds` for the first; none after `wake`."""
        if not self._poll.poll(seconds * 1000):
            return []
        packed = os.read(self._handle, 2048 * _RING.size)
        rings = map(Ring._make, _RING.iter_unpack(packed[: len(packed) // _RING.size * _RING.size]))
        return [ring for ring in rings if ring != _WAKE]

    def wake(self) -> None:
        """Let `wait` return, from another thread of this process."""
        _write(self._handle, _WAKE)

    def __del__(self) -> None:
        _close(self)


class DoorbellWriter:
    """Rings the doorbell of another process."""

    def __init__(self, file: Path) -> None:
        """Raises: OSError."""
        self._handle = os.open(file, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    @classmethod
    def find(cls, file: Path) -> DoorbellWriter | None:
        """None: there is no doorbell (yet), or its owner is gone. Raises: OSError."""
        try:
            return cls(file)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise

    def ring(self, ring: Ring) -> bool:
        """False: the owner is gone. Raises: PlaneLost: it reads nothing."""
        return _write(self._handle, ring)

    def __del__(self) -> None:
        _close(self)


def _write(handle: int, ring: Ring) -> bool:
    began = time.monotonic()
    while True:
        try:
            os.write(handle, _RING.pack(*ring))  # so few bytes are written whole or not at all
            return True
        except BrokenPipeError:
            return False
        except BlockingIOError:
            if time.monotonic() - began > _FULL_TIMEOUT:
                raise PlaneLost(f"another worker has read none of the rings that were sent to it for {_FULL_TIMEOUT:g} s") from None
            time.sleep(_RETRY_INTERVAL)


def _close(owner: Doorbell | DoorbellWriter) -> None:
    if (handle := getattr(owner, "_handle", -1)) >= 0:
        os.close(handle)
