"""Which passes over the data are over: a function of the log, so the same on every shard, and after a resume."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

MOST_OPEN = 64
"""Passes that are open at a time. Where one worker is further behind, the oldest closes without the rest of its examples."""


class PassClock:
    """A pass is an epoch, or a portion of data that grows. It closes when it is over for every worker that may still push."""

    def __init__(self) -> None:
        self._over: dict[int, int] = {}
        """Passes that are over for each rank, by its decided pushes."""
        self._undecided: dict[int, int] = {}
        """The same with each rank's undecided push."""
        self.closed = 0
        """Passes below this number are closed."""

    @property
    def counts(self) -> bool:
        """A push has told of passes."""
        return bool(self._over or self._undecided)

    def hold(self, rank: int, over: int | None) -> None:
        """A push has come, with which so many passes are over for its rank. None: it tells of none."""
        if over is not None:
            self._undecided[rank] = over

    def decide(self, rank: int) -> None:
        """The push of this rank is decided, whatever became of it."""
        if (over := self._undecided.pop(rank, None)) is not None:
            self._over[rank] = max(over, self._over.get(rank, 0))

    def close(self, members: Collection[int]) -> int:
        """Close the passes that are over for all of `members`, the workers that may still push. Without any, those that are over
        for every rank; one that workers left in its midst stays open. Return how many were closed before."""
        before = self.closed
        reached = min(self._over.get(rank, 0) for rank in {*members, *self._undecided} or self._over)
        self.closed = max(before, reached, max(self._over.values(), default=0) - MOST_OPEN + 1)
        return before

    def state(self) -> dict[str, Any] | None:
        """None: no push has told of passes."""
        if not self.counts:
            return None
        return {"over": dict(self._over), "undecided": dict(self._undecided), "closed": self.closed}

    def load(self, state: Mapping[str, Any] | None) -> None:
        if state:
            self._over, self._undecided, self.closed = dict(state["over"]), dict(state["undecided"]), state["closed"]
