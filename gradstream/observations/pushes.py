"""The observations that came with pushes, on shard 0: those of a push count when it does, and never if it is dropped."""

from __future__ import annotations

from typing import Any

from gradstream.observations.histograms import Observations
from gradstream.observations.passes import ClosedPass, PassObservations
from gradstream.observations.sliding import SlidingObservations


class ObservedPushes:
    def __init__(self) -> None:
        self._held: dict[int, Observations] = {}
        """Those of undecided pushes, by rank."""
        self.counted = SlidingObservations()
        self._passes = PassObservations()

    def hold(self, rank: int, observed: Observations | None) -> None:
        """Take the observations of a push until it is decided."""
        if observed:
            self._held[rank] = observed

    def count(self, rank: int) -> None:
        """The push of this rank counts."""
        if observed := self._held.pop(rank, None):
            self.counted.add(observed)
            self._passes.add(observed)

    def drop(self, rank: int) -> None:
        """The push of this rank is dropped."""
        self._held.pop(rank, None)

    def close_passes(self, below: int | None) -> list[ClosedPass]:
        """Return the passes below this number that close now; None: all that are open."""
        return self._passes.close(below)

    def state(self) -> dict[str, Any] | None:
        """None: nothing was ever observed."""
        if not (self._held or self.counted.examples):
            return None
        held = {rank: observed.pack() for rank, observed in self._held.items()}
        return {"held": held, "counted": self.counted.state(), "passes": self._passes.state()}

    def load(self, state: dict[str, Any] | None) -> None:
        if state:
            self._held = {rank: Observations.unpack(packed) for rank, packed in state["held"].items()}
            self.counted.load(state["counted"])
            self._passes.load(state["passes"])
