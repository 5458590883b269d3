"""The numbers of a job's feed. See `models`: taken under the lock of the job's row, so committed in their order."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import after_commit
from backend.jobs.models import EventRow, JobRow
from backend.wakeups.wakeup import Wakeup
from gradstream.events import EventKind


def take(session: Session, job: JobRow, count: int = 1) -> int:
    """The first of `count` new numbers. `job` must be locked by this transaction; its listeners wake after the commit."""
    first = job.feed + 1
    job.feed += count
    wake(session, job.id)
    return first


def wake(session: Session, job_id: UUID) -> None:
    """The job's listeners wake after the commit."""
    wakeup: Wakeup | None = session.info.get("wakeup")
    if wakeup is not None:
        after_commit(session, ("job", job_id), partial(wakeup.send, job_id))


def changed(session: Session, job: JobRow) -> None:
    """Note that what `schemas.Job` shows has changed."""
    job.seq = take(session, job)


def record(session: Session, job: JobRow, kind: EventKind, message: str, *, actor: str, data: dict[str, Any] | None = None) -> None:
    """Write an event into the job's history."""
    session.add(EventRow(job_id=job.id, seq=take(session, job), kind=kind, actor=actor, message=message, data=data or {}))
