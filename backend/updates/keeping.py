"""Removal of the update samples of ended jobs, when their `retention` of metrics is over."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import structlog

from backend.db import Database
from backend.jobs import repository as job_rows
from backend.jobs.backoff import JobBackoff
from backend.updates import repository

log = structlog.get_logger(__name__)

JOBS = 20
"""Jobs of one pass."""


def tidy(database: Database, backoff: JobBackoff) -> None:
    """Remove samples whose `retention` is over. A job that fails here holds up no other. The event of the metrics stands for
    both."""
    with database.transaction() as session:
        due = repository.overdue(session, JOBS, but=backoff.resting("updates"))
    for job_id in due:
        backoff.attempt("updates", job_id, partial(forget, database, job_id))


def forget(database: Database, job_id: UUID) -> None:
    """Remove the samples of a job."""
    with database.transaction() as session:
        if job_rows.lock(session, job_id) is not None:
            repository.forget(session, job_id)
    log.info("update samples were removed, as the job's retention says", job=str(job_id))
