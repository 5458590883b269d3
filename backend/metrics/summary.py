"""What is shown of a job's progress: in full, in a row of a list, and what is new that somebody should be told. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from backend.jobs.schemas import Headway, Progress
from backend.metrics.curve import Curve
from backend.metrics.progress import EVAL, USUAL_SCORES, Folded, evaluation_alerts, mean_loss, mean_staleness
from gradstream.center.ledger import Silent
from gradstream.gate import Gate
from gradstream.process import room
from gradstream.process.watchdog import hang_sentences
from gradstream.progress import alerts

_ROW, _NUMBER = 2048, 24
"""Bytes of evaluations in a row of a list, and of each of their numbers."""


def shown(state: dict[str, Any], gate: Gate) -> Progress:
    kept = Folded.model_validate(state)
    low, high = kept.remaining.bounds(kept.standings) or (None, None)
    return Progress(
        seconds_left_low=low, seconds_left_high=high,
        samples=kept.samples, total_samples=kept.total_samples, epoch_samples=kept.epoch_samples, version=kept.version,
        done=kept.done, seconds_left=kept.remaining.seconds(kept.standings), samples_per_second=kept.throughput.lately,
        mean_samples_per_second=kept.throughput.mean, loss=mean_loss(kept), not_finite=kept.not_finite, loss_curve=kept.curve.line,
        mean_staleness=mean_staleness(kept), eval=dict(kept.eval), main_metric=main_metric(kept.eval, kept.target),
        alerts=_alerts(kept, gate), first_step_at=kept.first_step_at, exchange=kept.figures.exchange(),
        shards=list(kept.figures.loads()),
    )  # fmt: skip


def _alerts(kept: Folded, gate: Gate) -> list[str]:
    found = [Silent(rank, dropped).sentence(gate) for rank, dropped in sorted(kept.silent.items())]
    found += hang_sentences(kept.hanging)
    found += evaluation_alerts(kept.model_dump(mode="json")).values()
    found += [slow_sentence(kept, rank, gate) for rank, factor in sorted(kept.slow.items()) if factor and rank not in kept.silent]
    found += [alerts.dropped_sentence(reason, kept.standings.ledger, gate) for reason in kept.dropping]
    if kept.no_room:
        found.append(room.sentence(kept.no_room))
    if kept.waits_for:
        found.append(kept.waits_for)
    return [*found, *kept.refused.values()]


def new_alerts(before: dict[str, Any], state: dict[str, Any], gate: Callable[[], Gate]) -> list[tuple[str, dict[str, Any]]]:
    """What `state` finds wrong and `before` does not: sentences, each with what it is about."""
    known = before.get("slow", {}) if before.get("attempt") == state.get("attempt") else {}
    slow = [rank for rank in state.get("slow", {}) if rank not in known and rank not in state.get("silent", {})]
    reasons = [reason for reason in state.get("dropping", []) if reason not in before.get("dropping", [])]
    if not slow and not reasons:
        return []
    kept, its = Folded.model_validate(state), gate()
    told: list[tuple[str, dict[str, Any]]] = [
        (slow_sentence(kept, int(rank), its), {"rank": int(rank), "slower": kept.slow[int(rank)]}) for rank in slow
    ]
    return told + [(alerts.dropped_sentence(reason, kept.standings.ledger, its), {"dropped": reason}) for reason in reasons]


def slow_sentence(kept: Folded, rank: int, gate: Gate) -> str:
    finished = 0 if rank in kept.remaining.left else len(kept.remaining.left)
    return alerts.slow_sentence(rank, kept.slow[rank], gate, finished, len(kept.remaining.shares))


def main_metric(evaluated: Mapping[str, float | None], target: str | None) -> str | None:
    """What the job is judged by: its target, else the accuracy, else another metric of its own, else the loss."""
    wanted = (target or "").removeprefix(EVAL)
    if wanted in evaluated or not evaluated:
        return wanted if wanted in evaluated else None
    own = sorted(name for name in evaluated if name != "loss")
    return "accuracy" if "accuracy" in own else own[0] if own else "loss"


def headway(state: dict[str, Any], figures: dict[str, float | None]) -> Headway:
    """Of the state, what lists show; `figures` are the columns that stand beside it. Reads no more of it: lists are long."""
    curve = Curve.model_validate(state.get("curve", {}))
    main = main_metric(evaluated := state.get("eval", {}), state.get("target"))
    return Headway(
        samples=state.get("samples", 0), total_samples=state.get("total_samples"), done=state.get("done"), loss_curve=curve.sketch,
        eval=_few_scores(evaluated, main), main_metric=main, not_finite=state.get("not_finite", []), **figures,
    )  # fmt: skip


def _few_scores(evaluated: Mapping[str, float | None], main: str | None) -> dict[str, float | None]:
    """What a row of a list shows of the evaluation: the main and usual metrics, and others as far as they fit."""
    first = [key for key in (main, *USUAL_SCORES) if key is not None and key in evaluated]
    shown, left = dict[str, float | None](), _ROW
    for key in dict.fromkeys([*first, *evaluated]):
        left -= len(key.encode()) + _NUMBER
        if left > 0 or key in first:
            shown[key] = evaluated[key]
    return {key: value for key, value in evaluated.items() if key in shown}
