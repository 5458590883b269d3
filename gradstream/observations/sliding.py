"""Observations of the last examples: in blocks, of which the oldest is forgotten when a new one begins."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from gradstream.observations.figures import figures
from gradstream.observations.histograms import Observations

WINDOW = 100_000
"""Examples that figures are of, and at most a tenth more."""
_BLOCKS = 10


class SlidingObservations:
    def __init__(self) -> None:
        self._blocks = deque[Observations](maxlen=_BLOCKS + 1)
        """The last one is filled at present."""
        self.examples = 0
        """All that were ever added."""

    def add(self, observed: Observations) -> None:
        if not self._blocks or self._blocks[-1].examples >= WINDOW // _BLOCKS:
            self._blocks.append(Observations())
        self._blocks[-1].add(observed)
        self.examples += observed.examples

    def figures(self) -> dict[str, float]:
        """Return those of the last examples; empty: there are none. See `gradstream.observations.figures`."""
        whole = Observations()
        for block in self._blocks:
            whole.add(block)
        return figures(whole)

    def state(self) -> tuple[int, list[str]]:
        return self.examples, [block.pack() for block in self._blocks]

    def load(self, state: tuple[int, Sequence[str]]) -> None:
        self.examples, packed = state
        self._blocks.clear()
        self._blocks.extend(map(Observations.unpack, packed))
