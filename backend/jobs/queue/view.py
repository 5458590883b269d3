"""The queue as users see it: who waits in which order and why, and who holds what they wait for."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.jobs import repository
from backend.jobs.models import JobRow, ProcessRow
from gradstream.api.jobs import HoldingJob, NodeShare, Queue, WaitingJob
from gradstream.api.statuses import JobStatus

MAX_SHOWN = 500
"""Jobs of each kind that are shown; how many there are is said beside."""

NEXT = "The scheduler places this job next."


def read(session: Session) -> Queue:
    queued = JobRow.status == JobStatus.QUEUED
    rows = session.scalars(select(JobRow).where(queued).order_by(*repository.SERVED).limit(MAX_SHOWN))
    waiting = [
        WaitingJob(
            id=job.id,
            name=job.name,
            user=job.user,
            priority=job.priority,
            position=place,
            reason=job.reason,
            message=_message(job, place),
            workers=job.workers,
            device=job.spec["roles"]["worker"]["device"],
            created_at=job.created_at,
            attempt=job.attempt,
        )
        for place, job in enumerate(rows, start=1)
    ]
    total = session.scalar(select(func.count()).select_from(JobRow).where(queued)) or 0
    return Queue(waiting=waiting, waiting_total=total, holding=_holding(session))


def _message(job: JobRow, place: int) -> str | None:
    """Return the job's message; that of a job that reached the head since the scheduler looked is corrected."""
    return NEXT if place == 1 and job.reason == "behind" else job.message


def _holding(session: Session) -> list[HoldingJob]:
    """Jobs with processes that have not ended, those with the most slots first."""
    held: dict[UUID, list[ProcessRow]] = defaultdict(list)
    for process in repository.live_processes(session):
        held[process.job_id].append(process)
    jobs = session.scalars(select(JobRow).where(JobRow.id.in_(list(held)))).all()
    holders = [_holder(job, held[job.id]) for job in jobs]
    return sorted(holders, key=lambda holder: (-holder.slots, holder.since, holder.id))[:MAX_SHOWN]


def _holder(job: JobRow, processes: list[ProcessRow]) -> HoldingJob:
    nodes = {process.node: process.node_id for process in processes}
    return HoldingJob(
        id=job.id,
        name=job.name,
        user=job.user,
        priority=job.priority,
        status=JobStatus(job.status),
        slots=_slots(processes),
        gpus=_gpus(processes),
        since=min(process.assigned_at for process in processes),
        nodes=[
            NodeShare(
                id=id,
                name=name,
                processes=len(there := [process for process in processes if process.node == name]),
                slots=_slots(there),
                gpus=_gpus(there),
            )
            for name, id in sorted(nodes.items())
        ],
    )


def _slots(processes: list[ProcessRow]) -> int:
    return sum(process.slot is not None for process in processes)


def _gpus(processes: list[ProcessRow]) -> float:
    return round(sum(len(process.gpus) / process.gpu_share for process in processes), 4)
