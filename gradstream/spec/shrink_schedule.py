"""The numbers of samples at which the tables of a job shrink: the same on every machine, and at any number of shards."""

from __future__ import annotations

from collections.abc import Mapping

from gradstream.spec.cadence import is_due
from gradstream.spec.tables import TableSpec


class ShrinkSchedule:
    def __init__(self, specs: Mapping[str, TableSpec], epoch_samples: int | None) -> None:
        """`epoch_samples`: of all workers; None or 0: not known, then intervals in epochs never end."""
        cadences = ((name, spec.shrinks_every) for name, spec in specs.items())
        intervals = ((name, cadence.in_samples(epoch_samples)) for name, cadence in cadences if cadence)
        self._every = {name: every for name, every in intervals if every}

    def due(self, before: int, samples: int) -> list[str]:
        """Return the tables whose interval ends between these two numbers of samples."""
        return [name for name, every in self._every.items() if is_due(before, samples, every)]
