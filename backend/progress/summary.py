"""Views of a job's progress: in full, and as a row of a list. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backend.progress.alert_rules import shown_alerts
from backend.progress.curve import LossCurve
from backend.progress.figures import mean_loss, mean_staleness
from backend.progress.folding import USUAL_SCORES
from backend.progress.results import EVAL
from backend.progress.state import Folded
from gradstream.api.progress import DealtBatches, Headway, Progress
from gradstream.gate import Gate

_ROW, _NUMBER = 2048, 24
"""Bytes of evaluations in a row of a list, and of each of their numbers."""


def shown(state: dict[str, Any], gate: Gate, *, ended: bool = False) -> Progress:
    """`ended`: the job has, so alerts are in the past."""
    kept = Folded.model_validate(state)
    low, high = kept.remaining.bounds(kept.summaries) or (None, None)
    return Progress(
        seconds_left_low=low,
        seconds_left_high=high,
        samples=kept.samples,
        total_samples=kept.total_samples,
        epoch_samples=kept.epoch_samples,
        version=kept.version,
        done=kept.done,
        seconds_left=kept.remaining.seconds(kept.summaries),
        samples_per_second=kept.throughput.lately,
        mean_samples_per_second=kept.throughput.mean,
        loss=mean_loss(kept),
        not_finite=kept.not_finite,
        loss_curve=kept.curve.line,
        mean_staleness=mean_staleness(kept),
        eval=dict(kept.eval),
        main_metric=main_metric(kept.eval, kept.target),
        alerts=shown_alerts(kept, gate, ended=ended),
        first_step_at=kept.first_step_at,
        exchange=kept.figures.exchange(),
        dealt=DealtBatches(**kept.remaining.dealt) if len(kept.remaining.dealt) == len(DealtBatches.model_fields) else None,
        shards=list(kept.figures.loads()),
    )


def main_metric(evaluated: Mapping[str, float | None], target: str | None) -> str | None:
    """Return the metric that the job is judged by: its target, else the accuracy, else another of its own, else the loss."""
    wanted = (target or "").removeprefix(EVAL)
    if wanted in evaluated or not evaluated:
        return wanted if wanted in evaluated else None
    own = sorted(name for name in evaluated if name != "loss")
    return "accuracy" if "accuracy" in own else own[0] if own else "loss"


def headway(state: dict[str, Any], figures: dict[str, float | None]) -> Headway:
    """Return the progress that lists show; `figures` are the columns beside the state. Reads no more of it: lists are long."""
    curve = LossCurve.model_validate(state.get("curve", {}))
    main = main_metric(evaluated := state.get("eval", {}), state.get("target"))
    return Headway(
        samples=state.get("samples", 0),
        total_samples=state.get("total_samples"),
        done=state.get("done"),
        loss_curve=curve.sketch,
        eval=_few_scores(evaluated, main),
        main_metric=main,
        not_finite=state.get("not_finite", []),
        **figures,
    )


def _few_scores(evaluated: Mapping[str, float | None], main: str | None) -> dict[str, float | None]:
    """Return the scores for a row of a list: the main and usual metrics, and others as far as they fit."""
    first = [key for key in (main, *USUAL_SCORES) if key is not None and key in evaluated]
    shown, left = dict[str, float | None](), _ROW
    for key in dict.fromkeys([*first, *evaluated]):
        left -= len(key.encode()) + _NUMBER
        if left > 0 or key in first:
            shown[key] = evaluated[key]
    return {key: value for key, value in evaluated.items() if key in shown}
