"""Observations of each pass over the data: an epoch, or a file of a followed folder.

A pass closes when every worker has pushed for a later one, or has left for good.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from gradstream.observations.figures import figures
from gradstream.observations.histograms import Observations

_MOST_OPEN = 64
"""Passes that are open at a time. Where one worker is further behind, the oldest closes without the rest of its examples."""


class ClosedPass(NamedTuple):
    number: int
    figures: dict[str, float]


class PassObservations:
    def __init__(self) -> None:
        self._open: dict[int, Observations] = {}
        """By the number of the pass."""
        self._at: dict[int, int] = {}
        """The pass of each rank's last push."""
        self._closed_before = 0
        """Passes below this number are closed."""

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def enter(self, rank: int, number: int) -> None:
        """The rank has pushed for this pass, whatever becomes of the push."""
        self._at[rank] = number

    def add(self, observed: Observations) -> None:
        if observed.number >= self._closed_before:
            self._open.setdefault(observed.number, Observations()).add(observed)

    def close(self, members: Collection[int]) -> list[ClosedPass]:
        """Close the passes that are over. `members`: the workers that may still push."""
        if not self._open or (members and len(self._open) == 1):
            return []
        reached = min((self._at.get(rank, 0) for rank in members), default=max(self._open) + 1)
        if len(self._open) > _MOST_OPEN:
            reached = max(reached, sorted(self._open)[-_MOST_OPEN])
        self._closed_before = max(self._closed_before, reached)
        over = sorted(number for number in self._open if number < reached)
        return [ClosedPass(number, figures(self._open.pop(number))) for number in over]

    def state(self) -> dict[str, Any]:
        passes = {number: observed.pack() for number, observed in self._open.items()}
        return {"open": passes, "at": dict(self._at), "closed_before": self._closed_before}

    def load(self, state: Mapping[str, Any]) -> None:
        self._open = {number: Observations.unpack(packed) for number, packed in state["open"].items()}
        self._at, self._closed_before = dict(state["at"]), state["closed_before"]
