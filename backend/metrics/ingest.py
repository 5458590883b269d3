"""From the gradient plane's metric streams into Postgres. A batch is trimmed from Redis only after its commit, and stored
once however often it is read: so nothing is lost and nothing is doubled, whoever dies in between."""

from __future__ import annotations

from uuid import UUID

from redis import Redis

from backend.db import Database
from backend.jobs import repository as job_rows
from backend.metrics import service
from gradstream.process.order import plane_id
from gradstream.wire import plane

PORTION = 500
"""Batches per transaction."""


def ingest(database: Database, redis: Redis, job_id: UUID, attempt: int) -> int:
    """Store what waits in the attempt's stream; the number of new batches. Raises: redis.RedisError, SQLAlchemyError."""
    j, stored = plane_id(job_id, attempt), 0
    while waiting := plane.read_packed_metrics(redis, j, count=PORTION):
        with database.transaction() as session:
            job = job_rows.lock(session, job_id)
            if job is None:
                return stored
            batches = [(source, number, packed) for _, source, number, packed in waiting]
            stored += service.store_packed(session, job, attempt, batches)
        plane.trim_metrics(redis, j, waiting[-1][0])
        if len(waiting) < PORTION:
            break
    return stored
