"""How far a job is, folded from its metrics as they arrive. Kept in the job's row; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from backend.metrics.curve import Curve
from backend.metrics.points import label
from backend.metrics.throughput import Throughput
from gradstream import metrics
from gradstream.center.ledger import Silent
from gradstream.exchange import FIGURES, Figures
from gradstream.metrics import Point
from gradstream.process.evaluation_alerts import not_finite_sentence, overlap_sentence
from gradstream.process.store import SLOWEST
from gradstream.process.watchdog import Hang
from gradstream.progress import alerts
from gradstream.progress.remaining import TAKEN as REMAINING
from gradstream.progress.remaining import Remaining
from gradstream.progress.standing import Standings

_LARGEST = 1e100
"""Sums of values up to here stay finite, which Postgres wants. Others are stored and drawn, but are not part of the progress."""
_LONGEST_STORE = 3600.0
"""Seconds."""
_FAULTS = 20
_DAMAGED = 100
SCORES = 100
"""Evaluation metrics that a job's progress holds; a few more if they are the usual ones."""
USUAL_SCORES = ("accuracy", "loss")
EVAL = "eval/"
_FIRST_SHARD = "server-0"
"""It tells of what all shards decide alike."""
_TAKEN = frozenset(
    metric.name for metric in (metrics.LOSS, metrics.STALENESS, metrics.TOTAL, metrics.EPOCH, metrics.SILENT,
                               metrics.NO_ROOM, metrics.COMPARED_ROWS, metrics.SHARED_ROWS)
)  # fmt: skip


class Folded(BaseModel):
    """What is remembered between two batches."""

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
    odd_scores: dict[str, int] = Field(default_factory=dict)
    """Evaluation metrics that were not finite, with the samples that the model had seen the first time."""
    compared_rows: int = 0
    shared_rows: int = 0
    """Evaluation rows that were compared with training rows, and that are some, if they are many."""
    silent: dict[int, int] = Field(default_factory=dict)
    """Workers that were found not to contribute, in any attempt, with how many of their pushes were dropped in a row."""
    no_room: dict[int, int] = Field(default_factory=dict)
    """Workers that did not get their shared memory, in any attempt, with the bytes that each needed."""
    damaged: dict[str, int] = Field(default_factory=dict)
    """Processes that were sent something damaged, in any attempt, with how often they have asked for it again."""
    hanging: dict[str, Hang] = Field(default_factory=dict)
    """Processes of this attempt that take long to start, by label."""
    slow: dict[int, float] = Field(default_factory=dict)
    """Workers that were found to be slow, in this attempt, and how many times slower than the others they are; 0: no more."""
    dropping: list[str] = Field(default_factory=list)
    """Why many pushes are dropped, in any attempt."""
    waits_for: str | None = None
    """While the data plane is full: a sentence that says who holds most of it."""
    refused: dict[str, str] = Field(default_factory=dict)
    """What is not stored of its metrics, in any attempt: a sentence for each process and field."""
    curve: Curve = Field(default_factory=Curve)
    """The loss over the whole life of the job, for lists."""
    figures: Figures = Field(default_factory=Figures)
    """Of the exchanges of this attempt."""
    standings: Standings = Field(default_factory=Standings)
    """Of its processes."""
    first_step_at: datetime | None = None


_OF_ATTEMPT = (
    "samples",
    "version",
    "loss",
    "not_finite",
    "throughput",
    "remaining",
    "done",
    "figures",
    "slow",
    "hanging",
    "waits_for",
)
"""What begins anew with an attempt."""


def fold(
    state: dict[str, Any], attempt: int, batches: Iterable[tuple[str, Sequence[Point]]], at: datetime, target: str | None = None
) -> dict[str, Any]:
    """The state after these points, each with who measured it. A new attempt begins where its cut was, so what counts up
    starts over. `target`: the metric of the job's target."""
    new = Folded.model_validate(state)
    if attempt < new.attempt:
        return state  # late news of a life that has ended
    if new.attempt != attempt:
        fresh = Folded(attempt=attempt)
        new = new.model_copy(update={name: getattr(fresh, name) for name in ("attempt", *_OF_ATTEMPT)})
    new.target = target
    for source, points in batches:
        _take_batch(new, source, points, at.timestamp())
    new.throughput.note(at.timestamp())
    new.done = new.remaining.done(new.standings)
    new.slow = alerts.slow_workers(new.slow, new.standings)
    new.dropping = alerts.dropped_reasons(new.dropping, new.standings.ledger)
    if new.first_step_at is None and new.version > 0:
        new.first_step_at = at
    return new.model_dump(mode="json")


def _take_batch(new: Folded, source: str, points: Sequence[Point], at: float) -> None:
    new.samples = max(new.samples, *(point.samples for point in points if point.name != metrics.LOSS.name), 0)
    new.version = max(new.version, *(point.version for point in points), 0)
    for point in points:
        if point.name == metrics.LOSS.name:
            _note_finite(new, point)
        elif point.name.startswith(EVAL) and not math.isfinite(point.value):
            _note_odd_score(new, point)
    finite = [point for point in points if abs(point.value) <= _LARGEST]
    for point in finite:
        if point.name in _TAKEN or point.name.startswith(EVAL):
            _take(new, point)
        elif point.name in REMAINING:
            new.remaining.take(point)
        elif point.name in FIGURES:
            new.figures.take(source, point)
        elif point.name == metrics.ASKED_AGAIN.name:
            _note_damage(new.damaged, label(source), int(point.value))
    if label(source) == _FIRST_SHARD:
        for point in finite:
            new.throughput.take(point, at)
    new.standings.take(source, new.attempt, finite)


def _note_finite(new: Folded, point: Point) -> None:
    """Whether the loss that a worker reported last is finite."""
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
        case metrics.SILENT.name:
            new.silent.setdefault(point.rank, int(point.value))
        case metrics.NO_ROOM.name:
            new.no_room.setdefault(point.rank, int(point.value))
        case metrics.COMPARED_ROWS.name:
            new.compared_rows = int(point.value)
        case metrics.SHARED_ROWS.name:
            new.shared_rows = int(point.value)
        case name:
            _enter_score(new, name.removeprefix(EVAL), point.value)


def _enter_score(new: Folded, key: str, value: float | None) -> None:
    """Of a bounded number of metrics: user code may give any. All of them are stored and drawn."""
    if key in new.eval or len(new.eval) < SCORES or key in (*USUAL_SCORES, (new.target or "").removeprefix(EVAL)):
        new.eval[key] = value


def _note_odd_score(new: Folded, point: Point) -> None:
    key = point.name.removeprefix(EVAL)
    _enter_score(new, key, None)
    if len(new.odd_scores) < _FAULTS:
        new.odd_scores.setdefault(key, point.samples)


def _note_damage(known: dict[str, int], who: str, count: int) -> None:
    """Of a bounded number of processes, as user code may send under any name."""
    if who in known or len(known) < _DAMAGED:
        known[who] = count


def silent(state: dict[str, Any]) -> dict[int, Silent]:
    """The workers that were found not to contribute, by rank."""
    return {rank: Silent(rank, dropped) for rank, dropped in sorted(Folded.model_validate(state).silent.items())}


def without_room(state: dict[str, Any]) -> dict[int, int]:
    """The workers that did not get their shared memory, with the bytes that each needed."""
    return Folded.model_validate(state).no_room


def damaged(state: dict[str, Any]) -> dict[str, int]:
    """The processes that were sent something damaged, with how often."""
    return Folded.model_validate(state).damaged


def evaluation_alerts(state: dict[str, Any]) -> dict[str, str]:
    """What is wrong with the evaluation: a sentence for each thing."""
    kept = Folded.model_validate(state)
    found = {key: not_finite_sentence(f"{EVAL}{key}", samples) for key, samples in kept.odd_scores.items()}
    return found | ({"overlap": overlap_sentence(kept.shared_rows, kept.compared_rows)} if kept.shared_rows else {})


def hanging_processes(state: dict[str, Any], attempt: int) -> dict[str, Hang]:
    """The processes of this attempt that take long to start, by label."""
    kept = Folded.model_validate(state)
    return kept.hanging if kept.attempt == attempt else {}


def has_begun(state: dict[str, Any], attempt: int) -> bool:
    """Whether a worker of this attempt has got ready to train, or has told the servers the model."""
    kept = Folded.model_validate(state)
    return kept.attempt == attempt and bool(kept.remaining.shares or kept.figures.center_bytes or kept.samples)


def refusing(state: dict[str, Any], which: str, sentence: str) -> dict[str, Any] | None:
    """The state with one more thing that is not stored. None: it is known, or so many are that one more says nothing."""
    known = state.get("refused", {})
    if which in known or len(known) >= _FAULTS:
        return None
    return {**state, "refused": {**known, which: sentence}}


def standings(state: dict[str, Any]) -> Standings:
    """How each process stands, the ledger, and the best evaluations."""
    return Folded.model_validate(state).standings


def place_of(state: dict[str, Any], label: str) -> tuple[int, int, int]:
    """Where a process is now: its step, and the samples and changes that the center has seen."""
    kept = Folded.model_validate(state)
    standing = kept.standings.processes.get(label)
    return standing.step if standing else 0, kept.samples, kept.version


def center_bytes(state: dict[str, Any]) -> int | None:
    """Of the center of the live attempt; None until a shard has told."""
    return Folded.model_validate(state).figures.center_bytes


def seconds_to_store(state: dict[str, Any]) -> float:
    """What a vector of the center's size may take at most: an hour, however large user code says that it is."""
    return min((center_bytes(state) or 0) / SLOWEST, _LONGEST_STORE)


def figures(state: dict[str, Any]) -> dict[str, float | None]:
    """What lists of jobs are sorted by: the columns of `JobRow` of these names."""
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
