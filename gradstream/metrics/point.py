"""A measured value."""

from __future__ import annotations

from typing import NamedTuple


class Point(NamedTuple):
    """One measured value. `source` (who measured) stands once per batch, not here."""

    name: str
    rank: int
    """The worker it is about; -1 where it is about none (evaluator, shard)."""
    step: int
    """Mini-batches of that worker (worker metrics), or pushes handled (server metrics)."""
    samples: int
    """Samples whose updates the center had seen; for the loss of a mini-batch, those of its worker since then count too."""
    version: int
    time: float
    """Seconds since the epoch, clock of the emitter."""
    value: float
