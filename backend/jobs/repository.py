from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.jobs.models import ENTRYPOINT, AttemptRow, DeletedJobRow, EventRow, IdempotencyKeyRow, JobRow, ProcessRow
from gradstream.events import EventKind

SERVED = (JobRow.priority.desc(), JobRow.created_at, JobRow.id)
"""The order in which waiting jobs get machines."""
_NOTED = timedelta(days=1)
"""How long it is known that a job was deleted."""


def get(session: Session, job_id: UUID) -> JobRow | None:
    return session.get(JobRow, job_id)


def several(session: Session, ids: Sequence[UUID]) -> list[JobRow]:
    """Return the jobs that exist, in this order."""
    found = {row.id: row for row in session.scalars(select(JobRow).where(JobRow.id.in_(list(ids))))}
    return [found[job_id] for job_id in dict.fromkeys(ids) if job_id in found]


def lock(session: Session, job_id: UUID, *, skip_locked: bool = False) -> JobRow | None:
    """The job, locked against every other writer until this transaction ends; as it is now, not as it was read before."""
    statement = select(JobRow).where(JobRow.id == job_id).execution_options(populate_existing=True)
    return session.scalar(statement.with_for_update(key_share=True, of=JobRow, skip_locked=skip_locked))


def live(session: Session, *, begun: bool = False) -> list[JobRow]:
    """All jobs that have not ended, in the order in which they are served. `begun`: without those that have only ever waited."""
    found = select(JobRow).where(JobRow.ended_at.is_(None), *([JobRow.attempt > 0] if begun else []))
    return list(session.scalars(found.order_by(*SERVED)))


def count_unended(session: Session, user_id: UUID, most: int) -> int:
    """Return the number of a user's jobs that have not ended, at most `most`."""
    some = select(JobRow.id).where(JobRow.ended_at.is_(None), JobRow.user_id == user_id).limit(most)
    return session.scalar(select(func.count()).select_from(some.subquery())) or 0


def begun(session: Session) -> list[tuple[UUID, int, str]]:
    """Id, attempt and status of the jobs that have not ended, without those that have only ever waited, as `live` orders them."""
    found = select(JobRow.id, JobRow.attempt, JobRow.status).where(JobRow.ended_at.is_(None), JobRow.attempt > 0)
    return [(row.id, row.attempt, row.status) for row in session.execute(found.order_by(*SERVED))]


def events(
    session: Session,
    job_id: UUID,
    after: int = 0,
    upto: int | None = None,
    *,
    kinds: Sequence[EventKind] = (),
    limit: int | None = None,
) -> list[EventRow]:
    """Return the events of a job, of all kinds if none is given."""
    statement = select(EventRow).where(EventRow.job_id == job_id, EventRow.seq > after).order_by(EventRow.seq)
    if upto is not None:
        statement = statement.where(EventRow.seq <= upto)
    if kinds:
        statement = statement.where(EventRow.kind.in_(list(kinds)))
    return list(session.scalars(statement.limit(limit)))


def attempt(session: Session, job_id: UUID, number: int) -> AttemptRow | None:
    return session.get(AttemptRow, (job_id, number))


def attempts(session: Session, job_id: UUID) -> list[AttemptRow]:
    return list(session.scalars(select(AttemptRow).where(AttemptRow.job_id == job_id).order_by(AttemptRow.number)))


def attempts_with_plane(session: Session) -> list[AttemptRow]:
    """Return the ended attempts that may have left something on the data plane."""
    return list(session.scalars(select(AttemptRow).where(AttemptRow.plane_open, AttemptRow.ended_at.is_not(None))))


def processes(
    session: Session, job_id: UUID, attempt: int | None = None, *, after: int = 0, upto: int | None = None
) -> list[ProcessRow]:
    statement = select(ProcessRow).where(ProcessRow.job_id == job_id, ProcessRow.seq > after)
    if attempt is not None:
        statement = statement.where(ProcessRow.attempt == attempt)
    if upto is not None:
        statement = statement.where(ProcessRow.seq <= upto)
    order = (ProcessRow.attempt.desc(), ProcessRow.role, ProcessRow.rank, ProcessRow.incarnation)
    return list(session.scalars(statement.order_by(*order)))


def process(session: Session, process_id: UUID) -> ProcessRow | None:
    return session.get(ProcessRow, process_id)


def processes_by_id(session: Session, ids: Sequence[UUID], node_id: UUID) -> list[ProcessRow]:
    statement = select(ProcessRow).where(ProcessRow.id.in_(ids), ProcessRow.node_id == node_id)
    return list(session.scalars(statement.execution_options(populate_existing=True)))


def live_processes(session: Session, *, node_id: UUID | None = None, job_id: UUID | None = None) -> list[ProcessRow]:
    """Return the processes that have not ended and so hold their places."""
    statement = select(ProcessRow).where(ProcessRow.ended_at.is_(None)).execution_options(populate_existing=True)
    if node_id is not None:
        statement = statement.where(ProcessRow.node_id == node_id)
    if job_id is not None:
        statement = statement.where(ProcessRow.job_id == job_id)
    return list(session.scalars(statement.order_by(ProcessRow.job_id, ProcessRow.role, ProcessRow.rank)))


def newest_named(session: Session, name: str) -> JobRow | None:
    return session.scalar(select(JobRow).where(JobRow.name == name).order_by(JobRow.created_at.desc(), JobRow.id).limit(1))


def claim_key(session: Session, user_id: UUID, key: str, request: bytes, job_id: UUID) -> IdempotencyKeyRow | None:
    """Enter the key for a new job; if it is taken, return its row. Waits for a request that is under way with it."""
    values = {"user_id": user_id, "key": key, "request": request, "job_id": job_id}
    entered = insert(IdempotencyKeyRow).values(values).on_conflict_do_nothing().returning(IdempotencyKeyRow.key)
    if session.scalar(entered) is not None:
        return None
    return session.get(IdempotencyKeyRow, (user_id, key))


def remove(session: Session, job: JobRow) -> None:
    """Remove a job and leave a note for lists that are open; notes of others go when no list can wait for them."""
    session.execute(delete(JobRow).where(JobRow.id == job.id))
    old = select(DeletedJobRow.id).where(DeletedJobRow.at < func.now() - _NOTED).with_for_update(skip_locked=True)
    session.execute(delete(DeletedJobRow).where(DeletedJobRow.id.in_(old)))
    session.execute(insert(DeletedJobRow).values(id=job.id))


def of_entrypoint(session: Session, entrypoint: str, bundle: str | None) -> list[JobRow]:
    """Some jobs with this workload class: the newest of the bundle, then the newest of all others."""
    same = ENTRYPOINT == entrypoint  # noqa: SIM300  # it is a column
    newest = select(JobRow).where(same).order_by(JobRow.created_at.desc()).limit(20)
    of_bundle = session.scalars(newest.where(JobRow.bundle == bundle)).all() if bundle else []
    return [*of_bundle, *session.scalars(newest.where(JobRow.bundle.is_distinct_from(bundle)))]
