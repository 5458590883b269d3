"""The desired set of a node: the orders of all processes that should run there now."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import now
from backend.jobs import lifecycle
from backend.jobs import service as jobs
from backend.jobs.models import AttemptRow, JobRow, ProcessRow
from backend.nodes.guard import guarded
from backend.platform import Platform
from backend.progress.state import hanging_processes
from gradstream.api.statuses import AttemptStatus, ProcessStatus
from gradstream.bundle.commit.origin import CodeOrigin
from gradstream.process.exits import GOOD
from gradstream.process.order import PlaneAccess, ProcessOrder, StoreAccess, plane_id
from gradstream.wire.plane import account


def desired(session: Session, platform: Platform, node_id: UUID) -> list[ProcessOrder]:
    """Read afresh each time, so lost, late, doubled or reordered messages to an agent are harmless."""
    rows = jobs.live_processes(session, node_id=node_id)
    orders: list[ProcessOrder] = []
    for job_id in sorted({row.job_id for row in rows}):
        with guarded(session, job_id):
            orders += _orders_of_job(session, platform, node_id, job_id, [row for row in rows if row.job_id == job_id])
    return orders


def _orders_of_job(
    session: Session, platform: Platform, node_id: UUID, job_id: UUID, wanted: list[ProcessRow]
) -> list[ProcessOrder]:
    job = jobs.find(session, job_id)
    if any(row.heard_at is None for row in wanted):
        wanted = [row for row in wanted if row.heard_at is not None]  # those run, whether the others can be told of now or not
        with guarded(session, job_id):
            job, wanted = _tell(session, job_id, node_id)
    attempt = lifecycle.current_attempt(session, job)
    if not _wanted(session, job, attempt):
        return []
    hanging = hanging_processes(job.progress, job.attempt) if job.stop_at else {}  # they would not hear of the stop
    wanted = [row for row in wanted if row.attempt == attempt.number and row.label not in hanging]
    spec, broken = jobs.spec_of(job), _broken_groups(session, job)
    wanted = [row for row in wanted if spec.roles.worker_of(row.role, row.rank) not in broken]
    return [_order(platform, job, attempt, row) for row in wanted]


def _broken_groups(session: Session, job: JobRow) -> set[int | None]:
    """Return the workers whose group is on several machines, and has lost a process: the rest of it ends, too."""
    roles = jobs.spec_of(job).roles
    if roles.worker.group.machines == 1:
        return set()
    rows = jobs.processes_of_attempt(session, job)
    failed = [row for row in rows if row.ended_at and not row.replaced and row.reason not in GOOD]
    return {roles.worker_of(row.role, row.rank) for row in failed} - {None}


def _wanted(session: Session, job: JobRow, attempt: AttemptRow) -> bool:
    """Return whether the processes of the attempt should run now."""
    killed = job.stop_at is not None and job.stop_at <= now(session)
    return attempt.status != AttemptStatus.PREPARING and attempt.ended_at is None and not killed


def _tell(session: Session, job_id: UUID, node_id: UUID) -> tuple[JobRow, list[ProcessRow]]:
    """Note under the job's lock that from now on the node may run the new processes, and count the orders sent."""
    job = jobs.lock(session, job_id)
    rows = jobs.live_processes(session, node_id=node_id, job_id=job_id)
    if _wanted(session, job, lifecycle.current_attempt(session, job)):
        for row in rows:
            if row.heard_at is not None or row.attempt != job.attempt:
                continue
            row.told, row.told_at = row.told + 1, row.told_at or now(session)
            if row.status == ProcessStatus.ASSIGNED:
                lifecycle.process_changed(session, job, row, ProcessStatus.STARTING)
    return job, rows


def _order(platform: Platform, job: JobRow, attempt: AttemptRow, row: ProcessRow) -> ProcessOrder:
    j = plane_id(job.id, attempt.number)
    settings = platform.settings
    return ProcessOrder(
        id=row.id,
        job_id=job.id,
        attempt=attempt.number,
        role=row.role,
        rank=row.rank,
        incarnation=row.incarnation,
        spec=jobs.spec_of(job),
        bundle=None if row.role == "server" else job.bundle,
        gpus=row.gpus,
        gpu_share=row.gpu_share,
        plane=PlaneAccess(
            url=settings.plane_public_url or settings.plane_redis_url, user=account(j), password=platform.derived.plane_password(j)
        ),
        store=StoreAccess(url=settings.process_api_url or settings.public_url, token=platform.derived.process_token(row.id)),
        resume=attempt.resumed_from,
        origin=job.origin and CodeOrigin.model_validate(job.origin),
    )
