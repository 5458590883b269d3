"""The observations that came with pushes, on shard 0: those of a push count when it does, and never if it is dropped."""

from __future__ import annotations

from typing import Any

from gradstream.observations.histograms import Observations
from gradstream.observations.sliding import SlidingObservations


class ObservedPushes:
    def __init__(self) -> None:
        self._held: dict[int, Observations] = {}
        """Those of undecided pushes, by rank."""
        self.counted = SlidingObservations()

    def hold(self, rank: int, observed: Observations | None) -> None:
        """Take the observations of a push until it is decided."""
        if observed:
            self._held[rank] = observed

    def count(self, rank: int) -> None:
        """The push of this rank counts."""
        if observed := self._held.pop(rank, None):
            self.counted.add(observed)

    def drop(self, rank: int) -> None:
        """The push of this rank is dropped."""
        self._held.pop(rank, None)

    def state(self) -> dict[str, Any] | None:
        """None: nothing was ever observed."""
        if not (self._held or self.counted.examples):
            return None
        return {"held": {rank: observed.pack() for rank, observed in self._held.items()}, "counted": self.counted.state()}

    def load(self, state: dict[str, Any] | None) -> None:
        if state:
            self._held = {rank: Observations.unpack(packed) for rank, packed in state["held"].items()}
            self.counted.load(state["counted"])
