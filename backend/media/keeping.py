"""Removal of the media of ended jobs, as their `retention` says."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import structlog

from backend.db import Database
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.backoff import JobBackoff
from backend.media import repository
from gradstream.events import EventKind

log = structlog.get_logger(__name__)

JOBS = 20
"""Jobs of one pass."""


def tidy(database: Database, backoff: JobBackoff) -> None:
    """Remove media whose `retention` is over. A job that fails here holds up no other."""
    with database.transaction() as session:
        due = repository.overdue(session, JOBS, but=backoff.resting("media"))
    for job_id in due:
        backoff.attempt("media", job_id, partial(forget, database, job_id))


def forget(database: Database, job_id: UUID) -> None:
    """Remove the media of a job."""
    with database.transaction() as session:
        job = job_rows.lock(session, job_id)
        if job is None or not (removed := repository.forget(session, job_id)):
            return
        days = (jobs.spec_of(job).retention.media or 0.0) / 86_400
        message = f"{removed:,} logged media were removed {days:.3g} days after the end, as 'retention' says."
        feed.record(session, job, EventKind.RETENTION, message, actor="controller")
    log.info("media were removed, as the job's retention says", job=str(job_id), items=removed)
