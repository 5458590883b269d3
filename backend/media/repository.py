from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, cast, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.media.models import MediaRow
from gradstream.user_logging.items import MediaKind

_OVERDUE = text("""
    SELECT jobs.id FROM jobs
    WHERE ended_at IS NOT NULL AND jobs.id <> ALL(CAST(:but AS uuid[]))
      AND jsonb_typeof(spec #> '{retention,media}') = 'number'
      AND clock_timestamp() - ended_at > make_interval(secs =>
        CASE jsonb_typeof(spec #> '{retention,media}') WHEN 'number'
        THEN CAST(LEAST(CAST(spec #> '{retention,media}' AS numeric), CAST(:forever AS numeric)) AS float8)
        ELSE CAST(:forever AS float8) END)
      AND EXISTS (SELECT 1 FROM media WHERE job_id = jobs.id)
    ORDER BY ended_at LIMIT :most
""")
_FOREVER = 1000 * 365.25 * 86_400
"""Seconds. A longer retention ends here, since an interval of Postgres would not hold it."""
_PLACE = ("job_id", "name", "rank", "step")


def totals(session: Session, job_id: UUID) -> tuple[int, int]:
    """Return how many items a job has, and their bytes."""
    total = cast(func.coalesce(func.sum(MediaRow.size), 0), BigInteger)
    count, size = session.execute(select(func.count(), total).where(MediaRow.job_id == job_id)).one()
    return count, size


def put(session: Session, row: dict[str, Any]) -> None:
    """Store an item in place of an earlier one of its name, process and step."""
    statement = insert(MediaRow).values(row)
    replaced = {key: statement.excluded[key] for key in row if key not in _PLACE}
    session.execute(statement.on_conflict_do_update(index_elements=_PLACE, set_=replaced))


def names(session: Session, job_id: UUID) -> Sequence[Any]:
    """Return a row for each name and kind: see `gradstream.api.media.MediaName`."""
    M = MediaRow
    statement = (
        select(
            M.name,
            M.kind,
            func.array_agg(M.rank.distinct()).label("ranks"),
            func.count().label("count"),
            cast(func.sum(M.size), BigInteger).label("bytes"),
            func.min(M.step).label("first_step"),
            func.max(M.step).label("last_step"),
            func.max(M.seq).label("seq"),
        )
        .where(M.job_id == job_id)
        .group_by(M.name, M.kind)
        .order_by(M.name, M.kind)
    )
    return session.execute(statement).all()


def page(
    session: Session, job_id: UUID, *, name: str | None, kind: MediaKind | None, rank: int | None, after: int, limit: int
) -> Sequence[MediaRow]:
    """Return the first items with a `seq` above `after`, without their contents."""
    wanted = [MediaRow.job_id == job_id, MediaRow.seq > after, *_wanted(name, kind, rank)]
    return session.scalars(select(MediaRow).where(*wanted).order_by(MediaRow.seq).limit(limit)).all()


def content(session: Session, job_id: UUID, seq: int) -> tuple[MediaRow, bytes] | None:
    found = session.execute(select(MediaRow, MediaRow.content).where(MediaRow.job_id == job_id, MediaRow.seq == seq)).one_or_none()
    return (found[0], found[1]) if found else None


def thinned(session: Session, job_id: UUID, name: str, rank: int | None, most: int) -> tuple[int, list[tuple[MediaRow, bytes]]]:
    """Return how many histograms there are of a name, and at most so many, evenly chosen by step, with the last one."""
    numbered = (
        select(MediaRow.seq, func.row_number().over(order_by=(MediaRow.step.desc(), MediaRow.rank)).label("place"))
        .where(MediaRow.job_id == job_id, *_wanted(name, "histogram", rank))
        .subquery()
    )
    count = session.scalar(select(func.count()).select_from(numbered)) or 0
    stride = max(1, -(-count // most))
    chosen = select(numbered.c.seq).where((numbered.c.place - 1) % stride == 0)
    statement = select(MediaRow, MediaRow.content).where(MediaRow.job_id == job_id, MediaRow.seq.in_(chosen))
    return count, [(row, packed) for row, packed in session.execute(statement.order_by(MediaRow.step, MediaRow.rank))]


def overdue(session: Session, most: int, *, but: Collection[UUID]) -> list[UUID]:
    """Return ended jobs that have media whose `retention` is over, without those in `but`."""
    return list(session.scalars(_OVERDUE, {"most": most, "but": list(but), "forever": _FOREVER}))


def forget(session: Session, job_id: UUID) -> int:
    """Remove all items of a job; return how many there were."""
    return len(session.execute(delete(MediaRow).where(MediaRow.job_id == job_id).returning(MediaRow.seq)).all())


def _wanted(name: str | None, kind: MediaKind | None, rank: int | None) -> list[ColumnElement[bool]]:
    given = ((MediaRow.name, name), (MediaRow.kind, kind), (MediaRow.rank, rank))
    return [column == value for column, value in given if value is not None]
