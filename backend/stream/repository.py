from __future__ import annotations

from uuid import UUID

from sqlalchemy import select, text, union
from sqlalchemy.orm import Session

from backend.jobs.models import JobRow

# Where a portion of at most :most entries ends. Everything in a feed has its number from one counter.
_END_OF_PORTION = text("""
    SELECT max(seq) FROM (
        SELECT seq FROM (
            (SELECT seq FROM events WHERE job_id = :job AND seq > :after ORDER BY seq LIMIT :most)
            UNION ALL (SELECT seq FROM metric_batches WHERE job_id = :job AND seq > :after ORDER BY seq LIMIT :most)
            UNION ALL (SELECT seq FROM log_chunks WHERE job_id = :job AND seq > :after ORDER BY seq LIMIT :most)
            UNION ALL (SELECT seq FROM processes WHERE job_id = :job AND seq > :after)
            UNION ALL (SELECT seq FROM jobs WHERE id = :job AND seq > :after)
        ) AS entries ORDER BY seq LIMIT :most
    ) AS portion
""")


def end_of_portion(session: Session, job_id: UUID, after: int, most: int) -> int | None:
    """None: there is nothing after `after`."""
    end: int | None = session.scalar(_END_OF_PORTION, {"job": job_id, "after": after, "most": most})
    return end


def latest(session: Session, count: int) -> list[tuple[UUID, int]]:
    """(id, seq) of the newest jobs and, of older ones, of as many that have not ended; newest first."""
    order = (JobRow.created_at.desc(), JobRow.id.desc())
    newest = select(JobRow.id, JobRow.seq, JobRow.created_at).order_by(*order).limit(count)
    live = select(JobRow.id, JobRow.seq, JobRow.created_at).where(JobRow.ended_at.is_(None)).order_by(*order).limit(2 * count)
    both = union(newest, live).subquery()
    statement = select(both.c.id, both.c.seq).order_by(both.c.created_at.desc(), both.c.id.desc())
    return [(row.id, row.seq) for row in session.execute(statement)]
