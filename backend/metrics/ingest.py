"""From the data plane's metric streams into Postgres. A batch is trimmed from Redis only after its commit, and stored
once however often it is read: so nothing is lost and nothing is doubled, whoever dies in between. One that Postgres refuses
is left out and told of: it keeps no other from being stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

import structlog
from redis import Redis
from sqlalchemy.exc import DBAPIError

from backend.away import MAY_PASS, first_line
from backend.db import Database
from backend.jobs import repository as job_rows
from backend.metrics import service
from gradstream.process.order import plane_id
from gradstream.wire import plane

log = structlog.get_logger(__name__)

PORTION = 500
"""Batches that are read at a time, and stored in a transaction."""
ROUNDS = 25
"""Portions: more than reporters let wait. A job that floods its stream delays no other job."""
LARGE = 16 * 2**20
"""Bytes of batches of a transaction; one that is larger is stored by itself."""

_ABOUT_WHAT_CAME = ("54", "57014")
"""How codes of operational errors begin that are due to what was sent: more than a limit of Postgres, or than its time allows."""

Waiting = tuple[str, str, int, bytes]
"""Id in Redis, source, number, points."""


def ingest(database: Database, redis: Redis, job_id: UUID, attempt: int) -> int:
    """Store what waits in the attempt's stream; the number of new batches. Raises: redis.RedisError, SQLAlchemyError."""
    j, stored = plane_id(job_id, attempt), 0
    for _ in range(ROUNDS):
        waiting = plane.read_packed_metrics(redis, j, count=PORTION)
        if not waiting:
            break
        for portion in _portions(waiting):
            new = _store(database, job_id, attempt, portion)
            if new is None:
                return stored
            stored += new
            plane.trim_metrics(redis, j, portion[-1][0])
    return stored


def _portions(waiting: Sequence[Waiting]) -> Iterator[list[Waiting]]:
    portion, size = list[Waiting](), 0
    for batch in waiting:
        size += len(batch[-1])
        if portion and size > LARGE:
            yield portion
            portion, size = [], len(batch[-1])
        portion.append(batch)
    yield portion


def _store(database: Database, job_id: UUID, attempt: int, portion: Sequence[Waiting]) -> int | None:
    """None: there is no such job."""
    try:
        with database.transaction() as session:
            job = job_rows.lock(session, job_id)
            return None if job is None else service.store_packed(session, job, attempt, [batch[1:] for batch in portion])
    except Exception as error:
        if not _about_what_came(error):
            raise
        if len(portion) > 1:
            return _one_by_one(database, job_id, attempt, portion)
        log.exception("a batch cannot be stored and is left out", source=portion[0][1], batch=portion[0][2])
        why = f"Postgres cannot hold them ({first_line(error)})" if isinstance(error, DBAPIError) else "they cannot be handled"
    with database.transaction() as session:
        job = job_rows.lock(session, job_id)
        return None if job is None else service.refuse(session, job, attempt, *portion[0][1:3], why)


def _one_by_one(database: Database, job_id: UUID, attempt: int, portion: Sequence[Waiting]) -> int | None:
    stored = 0
    for batch in portion:
        new = _store(database, job_id, attempt, [batch])
        if new is None:
            return None
        stored += new
    return stored


def _about_what_came(error: Exception) -> bool:
    """Return whether the data itself caused the error, so that a retry cannot help."""
    code = str(getattr(getattr(error, "orig", None), "sqlstate", None))
    return not isinstance(error, MAY_PASS) or code.startswith(_ABOUT_WHAT_CAME)
