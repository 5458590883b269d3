"""The rows of waiting jobs, as far as the scheduler needs them: there may be thousands, and it looks several times a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from backend.jobs.models import JobRow
from backend.jobs.repository import SERVED
from gradstream.api.statuses import JobStatus

_WAITS = (JobRow.ended_at.is_(None), JobRow.status == JobStatus.QUEUED)
_FINGERPRINT = func.bit_xor(func.uuid_hash_extended(JobRow.id, text("jobs.xmin::text::bigint")))
"""It stands for the versions of all rows: every write changes the xmin of its row."""
_EXPLAIN = text("""
    WITH told AS (SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:reasons AS text[]), CAST(:messages AS text[]),
                                       CAST(:positions AS int[])) AS told (id, reason, message, position)),
         free AS (SELECT jobs.id FROM jobs JOIN told USING (id) WHERE jobs.status = :queued FOR NO KEY UPDATE OF jobs SKIP LOCKED)
    UPDATE jobs SET reason = told.reason, message = told.message, position = told.position, feed = feed + 1, seq = feed + 1
    FROM told JOIN free USING (id) WHERE jobs.id = told.id RETURNING jobs.id
""")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job waits."""

    job: UUID
    reason: str | None
    message: str | None
    position: int | None


@dataclass(frozen=True, slots=True)
class WaitingRow:
    id: UUID
    bundle: str | None
    shards: int | None
    told: Explanation
    """The explanation in the job's row."""


def fingerprint_waiting(session: Session) -> tuple[int, int | None]:
    """Return the number of waiting jobs, and a number that changes with each write to one of their rows."""
    count, versions = session.execute(select(func.count(), _FINGERPRINT).select_from(JobRow).where(*_WAITS)).one()
    return count, versions


def waiting(session: Session) -> list[WaitingRow]:
    """Return the waiting jobs in the order in which they are served."""
    columns = (JobRow.id, JobRow.bundle, JobRow.shards, JobRow.reason, JobRow.message, JobRow.position)
    rows = session.execute(select(*columns).where(*_WAITS).order_by(*SERVED))
    return [WaitingRow(row[0], row[1], row[2], Explanation(row[0], *row[3:])) for row in rows]


def specs(session: Session, ids: Sequence[UUID]) -> Mapping[UUID, dict[str, Any]]:
    return {id: spec for id, spec in session.execute(select(JobRow.id, JobRow.spec).where(JobRow.id.in_(ids)))} if ids else {}


def explain(session: Session, told: Sequence[Explanation]) -> list[UUID]:
    """Write it into the rows of jobs that still wait and that are not locked; return their ids. A number of each job's
    feed is taken, as `feed.changed` does."""
    ids, reasons, messages, positions = (list(column) for column in zip(*map(astuple, told), strict=True))
    values = {"ids": ids, "reasons": reasons, "messages": messages, "positions": positions, "queued": JobStatus.QUEUED}
    return list(session.scalars(_EXPLAIN, values))
