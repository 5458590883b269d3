"""How far a job is, folded from its metrics as they arrive. Kept in the job's row; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from backend.jobs.schemas import Progress
from gradstream import metrics
from gradstream.center.ledger import Silent
from gradstream.gate import Gate
from gradstream.metrics import Point


class Folded(BaseModel):
    """What is remembered between two batches."""

    attempt: int = 0
    samples: int = 0
    version: int = 0
    total_samples: int | None = None
    loss: dict[int, float] = Field(default_factory=dict)
    """The last one of each worker."""
    rate: dict[int, float] = Field(default_factory=dict)
    """Samples per second, the last of each worker."""
    staleness_sum: float = 0.0
    staleness_count: int = 0
    eval: dict[str, float] = Field(default_factory=dict)
    silent: dict[int, int] = Field(default_factory=dict)
    """Workers that were found not to contribute, in any attempt, with how many of their pushes were dropped in a row."""
    first_step_at: datetime | None = None


def fold(state: dict[str, Any], attempt: int, points: Iterable[Point], at: datetime) -> dict[str, Any]:
    """The state after these points. A new attempt begins where its cut was, so what counts up starts over."""
    new = Folded.model_validate(state)
    if attempt < new.attempt:
        return state  # late news of a life that has ended
    if new.attempt != attempt:
        new = new.model_copy(update={"attempt": attempt, "samples": 0, "version": 0, "loss": {}, "rate": {}})
    for point in points:
        new.samples, new.version = max(new.samples, point.samples), max(new.version, point.version)
        if math.isfinite(point.value):
            _take(new, point)
    if new.first_step_at is None and new.version > 0:
        new.first_step_at = at
    return new.model_dump(mode="json")


def _take(new: Folded, point: Point) -> None:
    match point.name:
        case metrics.LOSS.name:
            new.loss[point.rank] = point.value
        case metrics.THROUGHPUT.name:
            new.rate[point.rank] = point.value
        case metrics.STALENESS.name:
            new.staleness_sum, new.staleness_count = new.staleness_sum + point.value, new.staleness_count + 1
        case metrics.TOTAL.name:
            new.total_samples = int(point.value)
        case metrics.SILENT.name:
            new.silent.setdefault(point.rank, int(point.value))
        case name if name.startswith("eval/"):
            new.eval[name.removeprefix("eval/")] = point.value


def silent(state: dict[str, Any]) -> dict[int, Silent]:
    """The workers that were found not to contribute, by rank."""
    return {rank: Silent(rank, dropped) for rank, dropped in sorted(Folded.model_validate(state).silent.items())}


def shown(state: dict[str, Any], gate: Gate) -> Progress:
    kept = Folded.model_validate(state)
    return Progress(
        samples=kept.samples, total_samples=kept.total_samples, version=kept.version,
        samples_per_second=sum(kept.rate.values()) if kept.rate else None,
        loss=sum(kept.loss.values()) / len(kept.loss) if kept.loss else None,
        mean_staleness=kept.staleness_sum / kept.staleness_count if kept.staleness_count else None,
        eval=dict(kept.eval), alerts=[found.sentence(gate) for found in silent(state).values()],
        first_step_at=kept.first_step_at,
    )  # fmt: skip
