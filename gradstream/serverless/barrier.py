"""A barrier between the processes of one host. Each has a named pipe, into which the others write how far they have come.

No process spins: it sleeps until another one writes, and wakes up twice a second to look whether the attempt still lives.

| bytes | meaning                          |
|-------|----------------------------------|
| 4     | the rank that arrives            |
| 8     | its number of arrivals so far    |
"""

from __future__ import annotations

import errno
import os
import select
import struct
import time
from collections.abc import Callable
from pathlib import Path

_ARRIVAL = struct.Struct("<IQ")
LOOK_INTERVAL = 0.5
"""Seconds between two looks whether the attempt still lives."""
_POLL_INTERVAL = 0.02
"""Seconds between two looks for the pipe of a process that is starting."""


class Barrier:
    def __init__(self, folder: Path, rank: int, count: int, look: Callable[[float], None]) -> None:
        """`look(seconds)` is called once in each `LOOK_INTERVAL`, with the time waited so far. It raises when the attempt is over.

        Raises: OSError: this rank's pipe cannot be made."""
        self._folder, self._rank, self._count, self._look = folder, rank, count, look
        self._arrivals = 0
        self._arrived = dict.fromkeys((other for other in range(count) if other != rank), 0)
        """Arrivals of the others."""
        os.mkfifo(self._file(rank), 0o600)
        self._handle = os.open(self._file(rank), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)  # also for writing: so it never ends
        os.fchmod(self._handle, 0o666)  # workers may have accounts of their own; the folder says who may enter
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)
        self._others: dict[int, int] = {}
        """Handles to write to the others."""

    def wait_for_all(self) -> None:
        """Return when every rank has made its barrier. Raises: what `look` raises."""
        began = looked = time.monotonic()
        while missing := [rank for rank in self._arrived if rank not in self._others]:
            for rank in missing:
                self._open(rank)
            if len(self._others) == len(self._arrived):
                return
            time.sleep(_POLL_INTERVAL)
            if time.monotonic() - looked > LOOK_INTERVAL:
                looked = time.monotonic()
                self._look(looked - began)

    def meet(self) -> None:
        """Return when every rank has called this as often as this one. Raises: what `look` raises."""
        self._arrivals += 1
        arrival = _ARRIVAL.pack(self._rank, self._arrivals)
        for handle in self._others.values():
            _write(handle, arrival)
        began = time.monotonic()
        while min(self._arrived.values(), default=self._arrivals) < self._arrivals:
            if self._poll.poll(LOOK_INTERVAL * 1000):
                self._read()
            else:
                self._look(time.monotonic() - began)

    def _read(self) -> None:
        for rank, number in _ARRIVAL.iter_unpack(os.read(self._handle, 4096 * _ARRIVAL.size)):
            if rank in self._arrived:  # user code may have written anything
                self._arrived[rank] = max(self._arrived[rank], number)

    def _open(self, rank: int) -> None:
        try:
            self._others[rank] = os.open(self._file(rank), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENXIO, errno.EACCES):  # not there yet, or being made
                raise

    def _file(self, rank: int) -> Path:
        return self._folder / f"{rank}.arrivals"

    def __del__(self) -> None:
        for handle in (getattr(self, "_handle", -1), *getattr(self, "_others", {}).values()):
            if handle >= 0:
                os.close(handle)


def _write(handle: int, arrival: bytes) -> None:
    try:
        os.write(handle, arrival)
    except BrokenPipeError:
        pass  # that process has died, and the wait for it ends with the attempt
