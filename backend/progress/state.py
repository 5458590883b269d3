"""Progress of a job, folded from its metrics as they arrive. Kept in the job's row; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from backend.progress.curve import LossCurve
from backend.progress.results import EVAL, Results
from backend.progress.throughput import Throughput
from gradstream import metrics
from gradstream.metrics import Point
from gradstream.process.order import label_of
from gradstream.process.store import SLOWEST
from gradstream.process.watchdog import Hang
from gradstream.progress import alerts, pass_alerts, table_alerts
from gradstream.progress.exchange import FIGURES, Figures
from gradstream.progress.export_alerts import FailedExports
from gradstream.progress.process_summary import ProcessSummaries
from gradstream.progress.remaining import TAKEN as REMAINING
from gradstream.progress.remaining import Remaining
from gradstream.progress.topic_alerts import LeaderlessPartitions
from gradstream.user_logging.names import GROUP

_LARGEST = 1e100
"""Sums of values up to here stay finite, which Postgres wants. Others are stored and drawn, but are not part of the progress."""
_LONGEST_STORE = 3600.0
"""Seconds."""
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
        metrics.SHARED_MEMORY_SHORTFALL,
        metrics.COMPARED_ROWS,
        metrics.SHARED_ROWS,
        metrics.LATE_FILES,
        metrics.LEADERLESS,
        metrics.EXPORTS_FAILED,
    )
)
_COUNTS = {
    metrics.RETRANSMISSIONS.name: "damaged",
    metrics.LOG_DROPPED.name: "log_dropped",
    metrics.MEDIA_DROPPED.name: "media_dropped",
}
"""Fields with the last count of each process, by metric."""
_WATCHED = pass_alerts.TAKEN | table_alerts.TAKEN


class Folded(BaseModel):
    """State between two batches. Rows of Postgres hold its fields by name."""

    attempt: int = 0
    samples: int = 0
    version: int = 0
    total_samples: int | None = None
    epoch_samples: int | None = None
    loss: dict[int, float] = Field(default_factory=dict)
    """The last one of each worker."""
    not_finite: list[int] = Field(default_factory=list)
    """Workers whose last loss is a NaN or an infinity."""
    throughput: Throughput = Field(default_factory=Throughput)
    remaining: Remaining = Field(default_factory=Remaining)
    done: float | None = None
    """Share of the training that is done, 0 to 1."""
    target: str | None = None
    """The metric of the job's target."""
    staleness_sum: float = 0.0
    staleness_count: int = 0
    eval: dict[str, float | None] = Field(default_factory=dict)
    """None: not a finite number."""
    results: Results = Field(default_factory=Results)
    odd_scores: dict[str, int] = Field(default_factory=dict)
    """Evaluation metrics that were not finite, with the samples that the model had seen the first time."""
    compared_rows: int = 0
    shared_rows: int = 0
    """Evaluation rows that were compared with training rows, and how many of them are training rows, if many are."""
    late_files: int = 0
    """Files of a followed folder that came too late to be read."""
    passes: pass_alerts.PassWatch = Field(default_factory=pass_alerts.PassWatch)
    """The last passes over the data of this attempt."""
    exports: FailedExports = Field(default_factory=FailedExports)
    leaderless: LeaderlessPartitions = Field(default_factory=LeaderlessPartitions)
    tables: table_alerts.TableWatch = Field(default_factory=table_alerts.TableWatch)
    """The memory of this attempt's embedding tables."""
    starved: dict[int, int] = Field(default_factory=dict)
    """Workers that were found not to contribute, in any attempt, with how many of their pushes were dropped in a row."""
    shared_memory_shortfalls: dict[int, int] = Field(default_factory=dict)
    """Workers that did not get their shared memory, in any attempt, with the bytes that each needed."""
    damaged: dict[str, int] = Field(default_factory=dict)
    """Processes that received corrupt messages, in any attempt, with their number of retransmissions."""
    log_dropped: dict[str, int] = Field(default_factory=dict)
    """Processes whose workload logged under too many names, in any attempt, with the values that were dropped."""
    media_dropped: dict[str, int] = Field(default_factory=dict)
    """Processes that have dropped logged media, in any attempt, with their number."""
    rows_beyond: dict[str, int] = Field(default_factory=dict)
    """Servers whose disk took no more rows, in this attempt, with the rows that they keep in memory beyond it; 0: no more."""
    hanging: dict[str, Hang] = Field(default_factory=dict)
    """Processes of this attempt that take long to start, by label."""
    slow: dict[int, float] = Field(default_factory=dict)
    """Workers that were found to be slow, in this attempt, and how many times slower than the others they are; 0: no more."""
    dropping: list[str] = Field(default_factory=list)
    """Why many pushes are dropped, by the ledger."""
    waits_for: str | None = None
    """While the data plane is full: a sentence that says who holds most of it."""
    refused: dict[str, str] = Field(default_factory=dict)
    """Metrics that are not stored, in any attempt: a sentence for each process and field."""
    curve: LossCurve = Field(default_factory=LossCurve)
    """The loss over all attempts of the job, for lists."""
    figures: Figures = Field(default_factory=Figures)
    """Figures of the exchanges of this attempt."""
    summaries: ProcessSummaries = Field(default_factory=ProcessSummaries)
    """Summaries of its processes."""
    first_step_at: datetime | None = None


_COUNTED = ("samples", "version", "loss", "not_finite", "throughput", "remaining", "done", "figures", "passes")
_OF_ATTEMPT = (*_COUNTED, "slow", "hanging", "waits_for", "exports", "leaderless", "tables", "rows_beyond")
"""Fields that begin anew with an attempt."""


def fold(
    state: dict[str, Any], attempt: int, batches: Iterable[tuple[str, Sequence[Point]]], at: datetime, target: str | None = None
) -> dict[str, Any]:
    """Return the state after these points, each batch with its source. A new attempt begins at its checkpoint, so counts start
    over. `target`: the metric of the job's target."""
    new = Folded.model_validate(state)
    if attempt < new.attempt:
        return state  # late news of an attempt that has ended
    if new.attempt != attempt:
        fresh = Folded(attempt=attempt)
        new = new.model_copy(update={name: getattr(fresh, name) for name in ("attempt", *_OF_ATTEMPT)})
    new.target = target
    for source, points in batches:
        _take_batch(new, source, points, at.timestamp())
    new.throughput.note(at.timestamp())
    new.done = new.remaining.done(new.summaries)
    new.slow = alerts.slow_workers(new.slow, new.summaries)
    new.dropping = alerts.dropped_reasons(new.dropping, new.summaries.ledger)
    if new.first_step_at is None and new.version > 0:
        new.first_step_at = at
    return new.model_dump(mode="json")


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
        elif point.name in FIGURES:
            new.figures.take(source, point)
        elif point.name in _COUNTS:
            _note_count(getattr(new, _COUNTS[point.name]), label_of(source), int(point.value))
    _note_rows_beyond(new.rows_beyond, label_of(source), [int(p.value) for p in finite if p.name == metrics.ROWS_BEYOND.name])
    if label_of(source) == _FIRST_SHARD:
        for point in finite:
            new.throughput.take(point, at)
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
        case metrics.LEADERLESS.name:
            new.leaderless.take(point)
        case _:
            _take_result(new, point)


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


def hanging_processes(state: dict[str, Any], attempt: int) -> dict[str, Hang]:
    """The processes of this attempt that take long to start, by label."""
    kept = Folded.model_validate(state)
    return kept.hanging if kept.attempt == attempt else {}


def has_begun(state: dict[str, Any], attempt: int) -> bool:
    """Return whether a worker of this attempt is ready to train, or has sent the model to the servers."""
    kept = Folded.model_validate(state)
    return kept.attempt == attempt and bool(kept.remaining.shares or kept.figures.center_bytes or kept.samples)


def refusing(state: dict[str, Any], which: str, sentence: str) -> dict[str, Any] | None:
    """Return the state with one more refused field. None: it is known, or so many are that one more says nothing."""
    known = state.get("refused", {})
    if which in known or len(known) >= _FAULTS:
        return None
    return {**state, "refused": {**known, which: sentence}}


def process_summaries(state: dict[str, Any]) -> ProcessSummaries:
    """Return the process summaries, the ledger, and the best evaluations."""
    return Folded.model_validate(state).summaries


def place_of(state: dict[str, Any], label: str) -> tuple[int, int, int]:
    """Return the step of a process, and the samples and changes that the center has seen."""
    kept = Folded.model_validate(state)
    summary = kept.summaries.processes.get(label)
    return summary.step if summary else 0, kept.samples, kept.version


def center_bytes(state: dict[str, Any]) -> int | None:
    """Return the bytes of the center of the live attempt; None until a shard has reported them."""
    return Folded.model_validate(state).figures.center_bytes


def seconds_to_store(state: dict[str, Any]) -> float:
    """Return the most seconds that storing a vector of the center's size may take: an hour, whatever size user code reports."""
    return min((center_bytes(state) or 0) / SLOWEST, _LONGEST_STORE)


def failed_exports(state: dict[str, Any], attempt: int) -> FailedExports:
    """Return those of this attempt."""
    kept = Folded.model_validate(state)
    return kept.exports if kept.attempt == attempt else FailedExports()
