"""Metrics: stored batch by batch, given as pages, as thinned series and as a part of the stream."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import now, storable
from backend.jobs import feed
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.metrics import repository
from backend.metrics.models import MetricBatchRow
from backend.metrics.progress import figures, fold, silent, without_room
from backend.metrics.schemas import CatalogueEntry, MetricBatch, MetricPage, PointRow, Series, SeriesOf, SeriesPoint
from gradstream.metrics import CATALOGUE, Point
from gradstream.process import room
from gradstream.spec import JobSpec

Batch = tuple[str, int, list[Point]]
"""Source, number and points, as a process sent them. The source is its label and incarnation: `worker-0.1`."""


def catalogue() -> list[CatalogueEntry]:
    return [CatalogueEntry.model_validate(metric) for metric in CATALOGUE.values()]


def label(source: str) -> str:
    """A rank is one line in a chart, over all its incarnations."""
    return source.rpartition(".")[0] or source


def store(session: Session, job: JobRow, attempt: int, batches: Sequence[Batch]) -> int:
    """Store every point of the batches that are new, and fold them into the job's progress. `job` must be locked.

    Returns how many batches were new: one that comes again (a repeat, a second controller) is nothing.
    """
    if not batches:
        return 0
    first = feed.take(session, job, len(batches))
    numbered = [
        (first + place, source, number, [point._replace(name=storable(point.name)) for point in points])
        for place, (source, number, points) in enumerate(batches)
    ]
    new = repository.insert_batches(session, job.id, attempt, [(seq, source, number) for seq, source, number, _ in numbered])
    repository.insert_points(session, job.id, [(seq, label(source), points) for seq, source, _, points in numbered if seq in new])
    if new:
        fresh = [(source, points) for seq, source, _, points in numbered if seq in new]
        before = job.progress
        job.progress = fold(before, attempt, fresh, now(session))
        jobs.note_figures(job, figures(job.progress))
        _tell_of_silence(session, job, before)
        _tell_of_room(session, job, before)
        feed.changed(session, job)
    return len(new)


def _tell_of_silence(session: Session, job: JobRow, before: dict[str, Any]) -> None:
    """Each rank is told of once in the life of the job."""
    known, gate = silent(before), JobSpec.model_validate(job.spec).effective_gate
    for rank, worker in silent(job.progress).items():
        if rank not in known:
            data = {"rank": rank, "dropped": worker.dropped}
            feed.record(session, job, "warning", worker.sentence(gate), actor="server-0", data=data)


def _tell_of_room(session: Session, job: JobRow, before: dict[str, Any]) -> None:
    """Likewise; those that are found together, in one event."""
    known = without_room(before)
    found = {rank: missing for rank, missing in without_room(job.progress).items() if rank not in known}
    if found:
        actor = f"worker-{min(found)}"
        data = {"ranks": sorted(found), "bytes": max(found.values())}
        feed.record(session, job, "warning", room.sentence(found), actor=actor, data=data)


def page(
    session: Session, job_id: UUID, *, names: Sequence[str] | None, source: str | None, rank: int | None, after: int, limit: int
) -> MetricPage:  # fmt: skip
    jobs.find(session, job_id)
    rows = repository.batches(session, job_id, after=after, upto=None, limit=limit, source=source)
    items = _with_points(session, job_id, rows, names=names, rank=rank)
    return MetricPage(items=[item for item in items if item.points], next=rows[-1].seq if rows else after)


def between(session: Session, job_id: UUID, after: int, upto: int) -> list[MetricBatch]:
    """For the stream: what has numbers above `after`, up to `upto`."""
    return _with_points(session, job_id, repository.batches(session, job_id, after=after, upto=upto, limit=None, source=None))


def _with_points(
    session: Session, job_id: UUID, rows: Sequence[MetricBatchRow], names: Sequence[str] | None = None, rank: int | None = None
) -> list[MetricBatch]:  # fmt: skip
    if not rows:
        return []
    points: dict[int, list[PointRow]] = defaultdict(list)
    for p in repository.points(session, job_id, after=rows[0].seq - 1, upto=rows[-1].seq, names=names, rank=rank):
        points[p.seq].append((p.name, p.rank, p.step, p.samples, p.version, p.time, _finite(p.value)))
    return [MetricBatch(seq=row.seq, attempt=row.attempt, source=label(row.source), points=points[row.seq]) for row in rows]


def series(session: Session, job_id: UUID, name: str, max_points: int) -> SeriesOf:
    jobs.find(session, job_id)
    found: dict[tuple[str, int], list[SeriesPoint]] = defaultdict(list)
    for source, rank, step, samples, version, time, value in repository.series(session, job_id, name, max_points):
        found[source, rank].append((step, samples, version, time, _finite(value)))
    return SeriesOf(series=[Series(source=source, rank=rank, points=points) for (source, rank), points in found.items()])


def highest_step(session: Session, job_id: UUID, attempt: int, name: str) -> dict[int, int]:
    """Of each rank, in one attempt."""
    return repository.highest_step(session, job_id, attempt, name)


def last_values(session: Session, job_id: UUID, name: str) -> dict[int, float]:
    """Of each rank."""
    return repository.last_values(session, job_id, name)


def _finite(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None
