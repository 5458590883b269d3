"""Metrics: stored batch by batch, given as pages, as charts, as files and as a part of the stream."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from backend.db import now
from backend.jobs import feed
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.metrics import admission, repository
from backend.metrics.admission import Came
from backend.metrics.charts import chart, live
from backend.metrics.charts.live import Arrived
from backend.metrics.models import MetricBatchRow
from backend.metrics.origins import Origins, SeriesCapacity, SeriesKey
from backend.metrics.repository import NewBatch
from backend.metrics.schemas import CatalogueEntry, LiveMetrics, MeasuredName, MeasuredNames, MetricPage, Storage
from backend.metrics.store import folding, payloads
from backend.metrics.store.points import decode
from backend.progress.alert_rules import new_alerts, resolved_alerts
from backend.progress.figures import figures
from backend.progress.folding import end_of, fold, refusing
from gradstream.api.charts import MetricBatch, PointRow
from gradstream.events import EventKind
from gradstream.metrics import Point, listed_metrics
from gradstream.process.order import label_of
from gradstream.spec import JobSpec
from gradstream.wire.telemetry import records

log = structlog.get_logger(__name__)

Batch = tuple[str, int, Sequence[Point]]
"""Source, number and points. The source is a process's label and incarnation: `worker-0.1`."""


def catalogue() -> list[CatalogueEntry]:
    return [CatalogueEntry.model_validate(metric) for metric in listed_metrics()]


def store(session: Session, job: JobRow, attempt: int, batches: Sequence[Batch]) -> int:
    """Store points that were made here; see `store_packed`."""
    packed = [(source, number, records.pack_points(points)) for source, number, points in batches]
    return store_packed(session, job, attempt, packed)


def store_packed(session: Session, job: JobRow, attempt: int, batches: Sequence[tuple[str, int, bytes]]) -> int:
    """Store every point of the batches that are new, and fold them into the job's progress. `job` must be locked.

    Returns how many batches were new: one that comes again (a repeat, a second controller) is ignored. Points that cannot be stored
    are left out, and an event says so once for each process and field.
    """
    return _store(session, job, attempt, [Came.read(*batch) for batch in batches])


def refuse(session: Session, job: JobRow, attempt: int, source: str, number: int, why: str) -> int:
    """Note that a batch which looked well could not be stored, as `store_packed` does."""
    seen = Came.read(source, number, b"[]")
    fault = admission.PointFault("points", f"{why}; the controller's log says more")
    return _store(session, job, attempt, [Came.refused(seen.source, seen.number, seen.fault or fault)])


def _store(session: Session, job: JobRow, attempt: int, batches: Sequence[Came]) -> int:
    came = {(batch.source, batch.number): batch for batch in batches}
    if not came:
        return 0
    known = repository.known_batches(session, job.id, attempt, list(came))
    new = [batch for key, batch in came.items() if key not in known]
    if not new:
        return 0
    stored = _keep(session, job, attempt, feed.take(session, job, len(new)), new)
    before, origins = job.progress, _origins(job)
    told = [(batch.source, _believed(batch, origins)) for batch in stored]
    job.progress = fold(before, attempt, told, now(session), **end_of(job.spec))
    jobs.note_figures(job, figures(job.progress))
    for alert in new_alerts(before, job.progress, lambda: JobSpec.model_validate(job.spec).effective_gate):
        feed.record(session, job, EventKind.WARNING, alert.sentence, actor=alert.actor, data=alert.data)
    for sentence in resolved_alerts(before, job.progress):
        feed.record(session, job, EventKind.RESOLVED, sentence, actor="controller")
    _record_faults(session, job, stored)
    feed.changed(session, job)
    return len(new)


def _origins(job: JobRow) -> Origins:
    return Origins.of_job(job.workers, job.spec, job.shards)


def _believed(batch: Came, origins: Origins) -> list[Point]:
    """Return the points for the job's progress. It grows with processes and ranks, so only those that the job can have count."""
    source = label_of(batch.source)
    believed = {rank: origins.believes(source, rank) for _, rank in batch.decoded.keys}
    return [point for point in batch.decoded.plain() if believed[point.rank]]


def _keep(session: Session, job: JobRow, attempt: int, first: int, new: Sequence[Came]) -> list[Came]:
    """Write the batches, numbered from `first` on, and the counts of their series. Return the batches as they are stored."""
    counts = repository.counts(session, job.id, attempt)
    capacity = SeriesCapacity(tuple(counts), _origins(job))
    counted: dict[SeriesKey, int] = {}
    rows: list[NewBatch] = []
    stored: list[Came] = []
    for seq, batch in enumerate(new, start=first):
        kept = batch.within(counts, capacity)
        totals = []
        for (name, rank), points in zip(kept.decoded.keys, kept.decoded.counts(), strict=True):
            key = (label_of(kept.source), name, rank)
            counts[key] = counted[key] = counts.get(key, 0) + points
            totals.append(counts[key])
        rows.append(NewBatch(seq, kept.source, kept.number, payloads.pack(kept.packed), payloads.pack_totals(totals)))
        stored.append(kept)
    repository.insert_batches(session, job.id, attempt, rows)
    if counted:
        repository.count(session, job.id, attempt, counted)
        waiting = repository.wait(session, job.id, sum(len(batch.decoded.points) for batch in stored))
        if folding.enough(waiting, len(counts)):
            folding.fold(session, job.id)
    return stored


def _record_faults(session: Session, job: JobRow, stored: Sequence[Came]) -> None:
    """Record that points are not stored: once per job for each process and field, up to a bound."""
    for which, (who, fault) in admission.told(stored).items():
        sentence = admission.sentence(who, fault)
        progress = refusing(job.progress, which, sentence)
        if progress is not None:
            job.progress = progress
            log.warning("metrics are not stored", source=who, field=fault.field, why=fault.sentence)
            feed.record(session, job, EventKind.WARNING, sentence, actor=who, data={"source": who, "field": fault.field})


def page(
    session: Session, job_id: UUID, *, names: Sequence[str] | None, source: str | None, rank: int | None, after: int, limit: int
) -> MetricPage:
    jobs.find(session, job_id)
    rows = repository.batches(session, job_id, after=after, limit=limit, source=source)
    items = [
        MetricBatch(seq=row.seq, attempt=row.attempt, source=label_of(row.source), points=points)
        for row in rows
        if (points := _rows(row, names, rank))
    ]
    return MetricPage(items=items, next=rows[-1].seq if rows else after)


def _rows(row: MetricBatchRow, names: Sequence[str] | None, rank: int | None) -> list[PointRow]:
    points = decode(payloads.unpack(row.payload)).plain()
    return [
        (*point[:-1], point.value if math.isfinite(point.value) else None)
        for point in points
        if (not names or point.name in names) and rank in (None, point.rank)
    ]


def arrived(session: Session, job_id: UUID, after: int, upto: int, ends: Sequence[int]) -> list[LiveMetrics]:
    """Return the stream's events for batches with numbers above `after`, up to `upto`. All batches between two of `ends` make one
    event. `ends`: the numbers of other entries in the feed, rising."""
    runs: dict[int, list[MetricBatchRow]] = defaultdict(list)
    place = 0
    for row in repository.batches(session, job_id, after=after, upto=upto):
        while place < len(ends) and ends[place] < row.seq:
            place += 1
        runs[place].append(row)
    return [LiveMetrics(seq=run[-1].seq, series=live.summarized(_parts(run))) for run in runs.values()]


def _parts(rows: Sequence[MetricBatchRow]) -> list[Arrived]:
    return [
        Arrived(row.attempt, label_of(row.source), group.name, group.rank, total, group.points)
        for row in rows
        for group, total in zip(decode(payloads.unpack(row.payload)).groups(), payloads.unpack_totals(row.totals), strict=True)
    ]


def names(session: Session, job_id: UUID) -> MeasuredNames:
    jobs.find(session, job_id)
    found = repository.names(session, job_id)
    return MeasuredNames(items=[MeasuredName(name=name, series=series, points=points) for name, series, points in found])


def storage(session: Session, job_id: UUID) -> Storage:
    job = jobs.find(session, job_id)
    kept = repository.store(session, job_id)
    batches, blocks = repository.storage(session, job_id)
    found = repository.names(session, job_id)
    return Storage(
        points=sum(points for *_, points in found),
        series=sum(series for _, series, _ in found),
        batches_bytes=batches,
        blocks_bytes=blocks,
        bytes=batches + blocks,
        keep_for=jobs.spec_of(job).retention.metrics,
        forgotten_at=kept.forgotten_at if kept else None,
    )


def highest_step(session: Session, job_id: UUID, attempt: int, name: str) -> dict[int, int]:
    """Return the highest step of each rank in one attempt."""
    found: dict[int, int] = {}
    for line in chart.lines(session, job_id, [name]):
        if line.row.attempt == attempt:
            found[line.row.rank] = max(found.get(line.row.rank, 0), int(line.summary["step_max"].max()))
    return found


def last_values(session: Session, job_id: UUID, name: str) -> dict[int, float]:
    """Return the last value of each rank, in its last attempt."""
    return {line.row.rank: float(line.summary["last"][-1]) for line in chart.lines(session, job_id, [name])}
