"""The places of the log at which the tables of a job shrink: the same on every machine, and at any number of shards."""

from __future__ import annotations

from collections.abc import Mapping

from gradstream.spec.cadence import is_due
from gradstream.spec.tables import TableSpec


class ShrinkSchedule:
    def __init__(self, specs: Mapping[str, TableSpec], epoch_samples: int | None) -> None:
        """`epoch_samples`: of all workers; None or 0: not known, then intervals in epochs never end."""
        cadences = {name: cadence for name, spec in specs.items() if (cadence := spec.shrinks_every)}
        in_samples = ((name, cadence.in_samples(epoch_samples)) for name, cadence in cadences.items())
        self._samples = {name: every for name, every in in_samples if every}
        self._passes = {name: cadence.passes for name, cadence in cadences.items() if cadence.passes}

    def due(self, before: int, samples: int) -> list[str]:
        """Return the tables whose interval ends between these two numbers of samples."""
        return [name for name, every in self._samples.items() if is_due(before, samples, every)]

    def due_with_passes(self, before: int, closed: int) -> list[str]:
        """Return the tables whose interval ends between these two numbers of passes that are over."""
        return [name for name, every in self._passes.items() if is_due(before, closed, every)]
