"""What is done for metrics when nothing is measured any more: the last points are folded, and what a job's `retention` gives up
is removed. In small transactions, each harmless to repeat."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import structlog

from backend.away import AWAY
from backend.db import Database, now
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.metrics import folding, repository

log = structlog.get_logger(__name__)

PORTION = 2000
"""Batches of one transaction."""
JOBS = 20
"""Of one pass."""


def tidy(database: Database) -> None:
    """For jobs that have ended."""
    with database.transaction() as session:
        waiting, overdue = repository.waiting(session, JOBS), repository.overdue(session, JOBS)
    for job_id in waiting:
        _try(fold, database, job_id)
    for job_id in overdue:
        _try(forget, database, job_id)


def _try(work: Callable[[Database, UUID], None], database: Database, job_id: UUID) -> None:
    """A job of which this fails keeps no other from it."""
    try:
        work(database, job_id)
    except AWAY:
        raise
    except Exception:
        log.exception("the metrics of an ended job cannot be tidied; it is tried again", job=str(job_id))


def fold(database: Database, job_id: UUID) -> None:
    """Bring all that waits into blocks."""
    folded = PORTION
    while folded == PORTION:
        with database.transaction() as session:
            if job_rows.lock(session, job_id) is None:
                return
            folded = folding.fold(session, job_id, most=PORTION)


def forget(database: Database, job_id: UUID) -> None:
    """Remove what is stored of a job's metrics. That it is done is noted last, so that a death in between is made up for."""
    with database.transaction() as session:
        job = job_rows.lock(session, job_id)
        store = repository.store(session, job_id)
        if job is None or store is None or store.forgotten_at is not None:
            return
        upto = store.folded = job.feed
        store.waiting = 0
        repository.forget_series(session, job_id)
    removed = PORTION
    while removed == PORTION:
        with database.transaction() as session:
            removed = repository.forget_batches(session, job_id, upto, PORTION)
    with database.transaction() as session:
        job = job_rows.lock(session, job_id)
        store = repository.store(session, job_id)
        if job is None or store is None or store.forgotten_at is not None:
            return
        store.forgotten_at = now(session)
        days = (jobs.spec_of(job).retention.metrics or 0.0) / 86_400
        message = f"The stored metrics were removed {days:.3g} days after the end, as 'retention' says; metrics.parquet stays."
        feed.record(session, job, "retention", message, actor="controller")
        feed.changed(session, job)
    log.info("metrics were removed, as the job's retention says", job=str(job_id))
