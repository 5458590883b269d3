"""Observations of each pass over the data: an epoch, or a portion of data that grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gradstream.observations.figures import figures
from gradstream.observations.histograms import Observations


class ClosedPass(NamedTuple):
    number: int
    figures: dict[str, float]


class PassObservations:
    def __init__(self) -> None:
        self._open: dict[int, Observations] = {}
        """By the number of the pass."""
        self._closed_before = 0
        """Passes below this number are closed."""

    def add(self, observed: Observations) -> None:
        if observed.number >= self._closed_before:
            self._open.setdefault(observed.number, Observations()).add(observed)

    def close(self, below: int | None) -> list[ClosedPass]:
        """Close the passes below this number; None: all, as nothing is added any more."""
        self._closed_before = max(self._closed_before, below or 0)
        over = sorted(number for number in self._open if below is None or number < below)
        return [ClosedPass(number, figures(self._open.pop(number))) for number in over]

    def state(self) -> dict[str, Any]:
        return {"open": {number: observed.pack() for number, observed in self._open.items()}, "closed_before": self._closed_before}

    def load(self, state: Mapping[str, Any]) -> None:
        self._open = {number: Observations.unpack(packed) for number, packed in state["open"].items()}
        self._closed_before = state["closed_before"]
