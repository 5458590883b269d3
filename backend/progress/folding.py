"""Progress of a job, folded from its metrics as they arrive. Kept in the job's row; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from backend.progress.results import EVAL
from backend.progress.state import Folded
from gradstream import metrics
from gradstream.metrics import Point
from gradstream.process.order import label_of
from gradstream.progress import alerts, pass_alerts, source_alerts, table_alerts
from gradstream.progress.exchange import FIGURES
from gradstream.progress.remaining import TAKEN as REMAINING
from gradstream.user_logging.names import GROUP

_LARGEST = 1e100
"""Sums of values up to here stay finite, which Postgres wants. Others are stored and drawn, but are not part of the progress."""
_FAULTS = 20
_DAMAGED = 100
SCORES = 100
"""Evaluation metrics that a job's progress holds; a few more if they are the usual ones."""
USUAL_SCORES = ("accuracy", "loss")
_FIRST_SHARD = "server-0"
"""Its reports stand for all shards, where they decide alike."""
_TAKEN = frozenset(
    metric.name
    for metric in (
        metrics.LOSS,
        metrics.STALENESS,
        metrics.TOTAL,
        metrics.EPOCH,
        metrics.STARVED,
        metrics.AWAITED,
        metrics.SHARED_MEMORY_SHORTFALL,
        metrics.COMPARED_ROWS,
        metrics.SHARED_ROWS,
        metrics.LATE_FILES,
        metrics.EXPORTS_FAILED,
    )
)
_COUNTS = {
    metrics.RETRANSMISSIONS.name: "damaged",
    metrics.LOG_DROPPED.name: "log_dropped",
    metrics.MEDIA_DROPPED.name: "media_dropped",
}
"""Fields with the last count of each process, by metric."""
_WATCHED = pass_alerts.TAKEN | table_alerts.TAKEN | source_alerts.TAKEN


_COUNTED = ("samples", "version", "loss", "not_finite", "throughput", "remaining", "done", "figures", "passes")
_OF_ATTEMPT = (*_COUNTED, "awaited", "slow", "hanging", "plane_holder", "exports", "checkpoints", "source", "tables", "rows_beyond")
"""Fields that begin anew with an attempt."""


def fold(
    state: dict[str, Any],
    attempt: int,
    batches: Iterable[tuple[str, Sequence[Point]]],
    at: datetime,
    target: str | None = None,
    *,
    endless: bool = False,
) -> dict[str, Any]:
    """Return the state after these points, each batch with its source. A new attempt begins at its checkpoint, so counts start
    over. `target`: the metric of the job's target. `endless`: the job never ends by itself."""
    new = Folded.model_validate(state)
    if attempt < new.attempt:
        return state  # late news of an attempt that has ended
    if new.attempt != attempt:
        fresh = Folded(attempt=attempt)
        new = new.model_copy(update={name: getattr(fresh, name) for name in ("attempt", *_OF_ATTEMPT)})
    new.target, new.endless = target, endless
    for source, points in batches:
        _take_batch(new, source, points, at.timestamp())
    new.throughput.note(at.timestamp())
    new.done = new.remaining.done(new.summaries)
    new.slow = alerts.slow_workers(new.slow, new.summaries)
    new.dropping = alerts.dropped_reasons(new.dropping, new.summaries.ledger)
    if new.first_step_at is None and new.version > 0:
        new.first_step_at = at
    return new.model_dump(mode="json")


def end_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return `target` and `endless` of a job file, read without checking the whole file once more."""
    stop = spec.get("stop") or {}
    return {"target": (stop.get("target") or {}).get("metric"), "endless": bool(stop.get("never"))}


def _take_batch(new: Folded, source: str, points: Sequence[Point], at: float) -> None:
    new.samples = max(new.samples, *(point.samples for point in points if not _counts_own_samples(point)), 0)
    new.version = max(new.version, *(point.version for point in points), 0)
    for point in points:
        if point.name == metrics.LOSS.name:
            _note_finite(new, point)
        elif point.name.startswith(EVAL) and not math.isfinite(point.value):
            _note_odd_score(new, point)
    finite = [point for point in points if abs(point.value) <= _LARGEST]
    for point in finite:
        if point.name in _TAKEN or point.name.startswith((EVAL, GROUP)):
            _take(new, point)
        elif point.name in REMAINING:
            new.remaining.take(point)
        elif point.name in _WATCHED:
            new.passes.take(point)
            new.tables.take(label_of(source), point)
            new.source.take(point)
        elif point.name in FIGURES:
            new.figures.take(source, point)
        elif point.name in _COUNTS:
            _note_count(getattr(new, _COUNTS[point.name]), label_of(source), int(point.value))
    _note_rows_beyond(new.rows_beyond, label_of(source), [int(p.value) for p in finite if p.name == metrics.ROWS_BEYOND.name])
    if label_of(source) == _FIRST_SHARD:
        for point in finite:
            new.throughput.take(point, at)
            new.checkpoints.take(point, at)
    new.summaries.take(source, new.attempt, finite)


def _counts_own_samples(point: Point) -> bool:
    """Return whether its samples include those of its worker that no push has brought yet."""
    return point.name == metrics.LOSS.name or point.name.startswith(GROUP)


def _note_finite(new: Folded, point: Point) -> None:
    """Note whether the loss that a worker reported last is finite."""
    if math.isfinite(point.value) == (point.rank in new.not_finite):
        others = [rank for rank in new.not_finite if rank != point.rank]
        new.not_finite = others if math.isfinite(point.value) else sorted([*others, point.rank])


def _take(new: Folded, point: Point) -> None:
    match point.name:
        case metrics.LOSS.name:
            new.loss[point.rank] = point.value
            new.curve.take(point.value)
        case metrics.STALENESS.name:
            new.staleness_sum, new.staleness_count = new.staleness_sum + point.value, new.staleness_count + 1
        case metrics.TOTAL.name:
            new.total_samples = int(point.value)
        case metrics.EPOCH.name:
            new.epoch_samples = int(point.value)
        case metrics.STARVED.name:
            new.starved.setdefault(point.rank, int(point.value))
        case metrics.AWAITED.name:
            _note_awaited(new.awaited, point)
        case metrics.SHARED_MEMORY_SHORTFALL.name:
            new.shared_memory_shortfalls.setdefault(point.rank, int(point.value))
        case metrics.COMPARED_ROWS.name:
            new.compared_rows = int(point.value)
        case metrics.SHARED_ROWS.name:
            new.shared_rows = int(point.value)
        case metrics.LATE_FILES.name:
            new.late_files = int(point.value)
        case metrics.EXPORTS_FAILED.name:
            new.exports.take(point)
        case _:
            _take_result(new, point)


def _note_awaited(known: dict[int, float], point: Point) -> None:
    """Note how long a worker is awaited; of a bounded number of workers, as user code may send any rank."""
    if point.rank in known or (point.value and len(known) < _DAMAGED):
        known[point.rank] = point.value


def _take_result(new: Folded, point: Point) -> None:
    if point.name.startswith(EVAL):
        _enter_score(new, point.name.removeprefix(EVAL), point.value)
    new.results.take(point, is_logged=point.name.startswith(GROUP))


def _enter_score(new: Folded, key: str, value: float | None) -> None:
    """Enter the scores of a bounded number of metrics, as user code may give any. All are stored and drawn."""
    if key in new.eval or len(new.eval) < SCORES or key in (*USUAL_SCORES, (new.target or "").removeprefix(EVAL)):
        new.eval[key] = value


def _note_odd_score(new: Folded, point: Point) -> None:
    key = point.name.removeprefix(EVAL)
    _enter_score(new, key, None)
    if len(new.odd_scores) < _FAULTS:
        new.odd_scores.setdefault(key, point.samples)


def _note_rows_beyond(known: dict[str, int], who: str, counts: Sequence[int]) -> None:
    """Note the last count of a server, once its disk has been full; of a bounded number of servers."""
    if counts and (who in known or (counts[-1] and len(known) < _DAMAGED)):
        known[who] = counts[-1]


def _note_count(known: dict[str, int], who: str, count: int) -> None:
    """Note a count of a bounded number of processes, as user code may send under any name."""
    if who in known or len(known) < _DAMAGED:
        known[who] = count


def refusing(state: dict[str, Any], which: str, sentence: str) -> dict[str, Any] | None:
    """Return the state with one more refused field. None: it is known, or so many are that one more says nothing."""
    known = state.get("refused", {})
    if which in known or len(known) >= _FAULTS:
        return None
    return {**state, "refused": {**known, which: sentence}}
