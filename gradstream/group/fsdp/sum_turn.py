"""The order in which the peers along fsdp, each of which is several processes along tensor, add to one gradient.

peer 0: adds, then says so to all processes of peer 1, which add then, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from gradstream.group.neighbour_pipe import Receive
from gradstream.input import tensor_pipe


class SumTurn:
    """The turn of one process."""

    def __init__(self, number: int, count: int, before: Connection | None, after: Sequence[Connection], receive: Receive) -> None:
        """`number`, `count`: of this peer and of all along fsdp. `before`: from the one before, None: there is one alone. `after`:
        to the processes of the next one, for the first process of this one. `receive`: as `tensor_pipe.receive`."""
        self._number, self._count = number, count
        self._before, self._after, self._receive = before, after, receive

    def wait(self) -> set[int]:
        """Wait until the peer before has added its gradient. Returns the parameters that have one, by index."""
        return set(self._receive(self._before)) if self._number and self._before else set()

    def end(self, parts: int, reached: Iterable[int]) -> None:
        """Say that this one has added its gradient, and which parameters have one now. `parts`: of this mini-batch; without one for
        it, the next has no turn."""
        for pipe in self._after if self._number + 1 < min(parts, self._count) else ():
            with suppress(ConnectionError):  # it has ended, which the lead finds out
                tensor_pipe.send(pipe, sorted(reached))
