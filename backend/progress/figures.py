"""The figures of a job's progress that lists show and sort by. Pure."""

from __future__ import annotations

from typing import Any

from backend.progress.state import Folded


def figures(state: dict[str, Any]) -> dict[str, float | None]:
    """Return the values that lists of jobs are sorted by: the columns of `JobRow` of these names."""
    kept = Folded.model_validate(state)
    measured = {"loss": mean_loss(kept), "samples_per_second": kept.throughput.mean, "mean_staleness": mean_staleness(kept)}
    return {"accuracy": kept.eval.get("accuracy"), **measured}


def mean_loss(kept: Folded) -> float | None:
    """None: there is none yet, or the mean is not finite."""
    if kept.not_finite:
        return None
    return sum(kept.loss.values()) / len(kept.loss) if kept.loss else None


def mean_staleness(kept: Folded) -> float | None:
    return kept.staleness_sum / kept.staleness_count if kept.staleness_count else None
