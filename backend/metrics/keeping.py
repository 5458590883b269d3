"""Upkeep of the metrics of ended jobs: fold the last points, and remove the metrics whose `retention` is over. Transactions are
small, and each is harmless to repeat."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

import structlog

from backend.db import Database, now
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.backoff import JobBackoff, Work
from backend.metrics import repository
from backend.metrics.store import folding
from gradstream.events import EventKind

log = structlog.get_logger(__name__)

PORTION = 2000
"""Batches of one transaction."""
JOBS = 20
"""Jobs of one pass."""


def tidy(database: Database, backoff: JobBackoff) -> None:
    """Fold and remove metrics of ended jobs. A job that fails here holds up no other."""
    passes: list[tuple[Work, Callable[[Database, UUID], None], Callable[..., list[UUID]]]] = [
        ("fold", fold, repository.waiting),
        ("retention", forget, repository.overdue),
    ]
    for work, do, find in passes:
        with database.transaction() as session:
            due = find(session, JOBS, but=backoff.resting(work))
        for job_id in due:
            backoff.attempt(work, job_id, partial(do, database, job_id))


def fold(database: Database, job_id: UUID) -> None:
    """Fold all waiting points of a job into blocks."""
    folded = PORTION
    while folded == PORTION:
        with database.transaction() as session:
            if job_rows.lock(session, job_id) is None:
                return
            folded = folding.fold(session, job_id, most=PORTION)


def forget(database: Database, job_id: UUID) -> None:
    """Remove the stored metrics of a job. `forgotten_at` is set last, so that a later pass repeats an interrupted removal."""
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
        feed.record(session, job, EventKind.RETENTION, message, actor="controller")
        feed.changed(session, job)
    log.info("metrics were removed, as the job's retention says", job=str(job_id))
