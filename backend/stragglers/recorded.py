"""The training of one attempt as it was recorded. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from backend.stragglers.cells import WorkerCells
from backend.stragglers.periods import SlowPeriod
from gradstream.spec import JobSpec

_SINCE_START = 2
"""Cells from a worker's first on within which it counts as slow from its start."""


@dataclass(frozen=True)
class RecordedTraining:
    spec: JobSpec
    workers: Mapping[int, WorkerCells]
    shares: Mapping[int, int]
    """Mini-batches of each worker; empty: not known, or without an end."""
    periods: Sequence[SlowPeriod]
    elapsed: float
    """Seconds from the start of training until now, or its end."""
    left: float | None
    """Seconds until all is trained; 0: it is. None: not known, or it will not be."""
    ended: Mapping[int, float]
    """Seconds from the start of training until a worker left for good, by rank."""
    running: bool
    examples: float | None
    """Examples per second that the model has learned from, on average; None: not known."""
    follows: bool
    """The job learns from a folder or a stream that grows."""

    @property
    def slow_now(self) -> list[int]:
        """Workers that are slow in the last cell in which they train."""
        found = {period.rank for period in self.periods if self.is_last(period)}
        return sorted(rank for rank in found if not (self.running and rank in self.ended))

    @property
    def slow(self) -> list[int]:
        """Workers of `slow_now`, or all that were ever slow if none is now."""
        return self.slow_now or sorted({period.rank for period in self.periods})

    def is_last(self, period: SlowPeriod) -> bool:
        """Return whether the worker is slow in its last cells. The very last one may hold no push."""
        return period.after >= int(np.flatnonzero(self.workers[period.rank].present)[-1])

    def is_first(self, period: SlowPeriod) -> bool:
        """Return whether the worker is slow from its first mini-batches on."""
        return period.first <= int(np.flatnonzero(self.workers[period.rank].present)[0]) + _SINCE_START
