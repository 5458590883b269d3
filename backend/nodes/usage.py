"""The processor time, memory and GPU of processes, as points beside those that the processes report themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.jobs.models import JobRow, ProcessRow
from backend.metrics import service as metrics
from backend.nodes.schemas import ReportedUsage
from backend.progress.state import latest_usage, place_of
from gradstream.metrics import CPU, GPU, GPU_MEMORY, MEMORY, Metric, Point


def store(session: Session, job: JobRow, measured: Sequence[tuple[ProcessRow, ReportedUsage | None]]) -> None:
    """Store the usage of live processes of the live attempt; `job` must be locked. The same measurement twice is stored once."""
    batches = [_batch(job, row, usage) for row, usage in measured if usage is not None and row.attempt == job.attempt]
    metrics.store(session, job, job.attempt, batches)


def latest(jobs: Iterable[JobRow], running: Iterable[ProcessRow]) -> dict[UUID, Mapping[str, float]]:
    """Return the last values that were measured of these processes of live attempts, by id. Some may have none yet."""
    found = {job.id: latest_usage(job.progress, job.attempt) for job in jobs}
    named = {row.id: found.get(row.job_id, {}).get(f"{row.label}.{row.incarnation}") for row in running}
    return {id: values for id, values in named.items() if values}


def _batch(job: JobRow, row: ProcessRow, usage: ReportedUsage) -> metrics.Batch:
    """In the process's own name. A process numbers its batches from 0; the moment in milliseconds is a number that none reaches."""
    values: dict[Metric, float | None] = {CPU: usage.cpu, MEMORY: usage.memory, GPU: usage.gpu, GPU_MEMORY: usage.gpu_memory}
    place = place_of(job.progress, row.label)
    points = [
        Point(metric.name, row.rank if row.role == "worker" else -1, *place, usage.at, float(value))
        for metric, value in values.items()
        if value is not None
    ]
    return f"{row.label}.{row.incarnation}", int(1000 * usage.at), points
