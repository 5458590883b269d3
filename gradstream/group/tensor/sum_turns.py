"""The order in which replicates of a split model add to one gradient: each process waits until the replicate before has added.

    replicate 0: adds, then says so to all processes of replicate 1, which add then, ...

A pipe leads to each process, and the first process of the replicate before writes into it, one byte for each mini-batch.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress


class SumTurns:
    """The pipes of all processes. Made before they are forked."""

    def __init__(self, replicates: int, alike: int) -> None:
        """`alike`: processes of each replicate. Raises: OSError: too many files are open."""
        self.pipes = [[multiprocessing.Pipe(duplex=False) for _ in range(alike)] for _ in range(replicates)]


class SumTurn:
    """The turn of one process."""

    def __init__(self, turns: SumTurns, replicate: int, place: int, wait_for: Callable[[int], None]) -> None:
        """Become the process at this place of a replicate. `wait_for`: see `PeerExchange`."""
        self.number, self._wait_for = replicate, wait_for
        self._mine = turns.pipes[replicate][place][0]
        self._next = [writes for _, writes in turns.pipes[replicate + 1]] if replicate + 1 < len(turns.pipes) else []
        if place:
            self._next = []  # the first process says it for all
        for reads, writes in (pipe for pipes in turns.pipes for pipe in pipes):
            if reads is not self._mine:
                reads.close()
            if writes not in self._next:
                writes.close()

    def wait(self) -> None:
        """Wait until the replicate before has added its gradient. Raises: what `wait_for` raises."""
        if self.number:
            self._wait_for(self._mine.fileno())
            os.read(self._mine.fileno(), 1)

    def end(self, parts: int) -> None:
        """Say that this replicate has added its gradient. `parts`: of this mini-batch; without one for it, the next has no turn."""
        for pipe in self._next if self.number + 1 < parts else ():
            with suppress(BrokenPipeError):  # it has ended, which the lead finds out
                os.write(pipe.fileno(), b"t")
