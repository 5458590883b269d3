from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select, text, union
from sqlalchemy.orm import Session

from backend.jobs.models import DeletedJobRow, JobRow

# Where a portion of at most :most entries and :bytes of output, or of one entry, ends. Everything in a feed has its number from
# one counter.
_END_OF_PORTION = text("""
    SELECT max(seq) FROM (
        SELECT seq, row_number() OVER numbered AS place, sum(size) OVER numbered AS held FROM (
            SELECT seq, size FROM (
                (SELECT seq, 0 AS size FROM events WHERE job_id = :job AND seq > :after ORDER BY seq LIMIT :most)
                UNION ALL (SELECT seq, 0 FROM metric_batches WHERE job_id = :job AND seq > :after ORDER BY seq LIMIT :most)
                UNION ALL (
                    SELECT seq, octet_length(text) FROM log_chunks WHERE job_id = :job AND seq > :after ORDER BY seq LIMIT :most
                )
                UNION ALL (SELECT seq, 0 FROM processes WHERE job_id = :job AND seq > :after)
                UNION ALL (SELECT seq, 0 FROM jobs WHERE id = :job AND seq > :after)
            ) AS entries ORDER BY seq LIMIT :most
        ) AS most WINDOW numbered AS (ORDER BY seq)
    ) AS portion WHERE place = 1 OR held <= :bytes
""")


_JUST = timedelta(minutes=1)
"""A list that begins to follow was read less than this before."""
_BEGUN = text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")


def end_of_portion(session: Session, job_id: UUID, after: int, most: int, most_bytes: int) -> int | None:
    """None: there is nothing after `after`."""
    end: int | None = session.scalar(_END_OF_PORTION, {"job": job_id, "after": after, "most": most, "bytes": most_bytes})
    return end


def latest(session: Session, count: int) -> list[tuple[UUID, int]]:
    """(id, seq) of the newest jobs and, of older ones, of as many that have not ended; newest first."""
    order = (JobRow.created_at.desc(), JobRow.id.desc())
    newest = select(JobRow.id, JobRow.seq, JobRow.created_at).order_by(*order).limit(count)
    live = select(JobRow.id, JobRow.seq, JobRow.created_at).where(JobRow.ended_at.is_(None)).order_by(*order).limit(2 * count)
    both = union(newest, live).subquery()
    statement = select(both.c.id, both.c.seq).order_by(both.c.created_at.desc(), both.c.id.desc())
    return [(row.id, row.seq) for row in session.execute(statement)]


def gone(session: Session, since: int | None) -> tuple[list[UUID], int]:
    """Jobs that were deleted since (None: in the last minute), and where the next look begins.

    The transaction must be a snapshot. Two looks may report the same deletion, and none is left out (`DeletedJobRow`)."""
    begun: int = session.execute(_BEGUN).scalar_one()
    after = DeletedJobRow.at > func.now() - _JUST if since is None else DeletedJobRow.transaction >= since
    return list(session.scalars(select(DeletedJobRow.id).where(after))), begun
