from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, cast, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.updates.models import UpdateSampleRow

_OVERDUE = text("""
    SELECT jobs.id FROM jobs
    WHERE ended_at IS NOT NULL AND jobs.id <> ALL(CAST(:but AS uuid[]))
      AND jsonb_typeof(spec #> '{retention,metrics}') = 'number'
      AND clock_timestamp() - ended_at > make_interval(secs =>
        CASE jsonb_typeof(spec #> '{retention,metrics}') WHEN 'number'
        THEN CAST(LEAST(CAST(spec #> '{retention,metrics}' AS numeric), CAST(:forever AS numeric)) AS float8)
        ELSE CAST(:forever AS float8) END)
      AND EXISTS (SELECT 1 FROM update_samples WHERE job_id = jobs.id)
    ORDER BY ended_at LIMIT :most
""")
_FOREVER = 1000 * 365.25 * 86_400
"""Seconds. A longer retention ends here, since an interval of Postgres would not hold it."""
_PLACE = ("job_id", "rank", "step")


class Totals(NamedTuple):
    samples: int
    bytes: int
    lost: int
    """Samples that processes have lost, by the last sample of each worker and attempt."""


def totals(session: Session, job_id: UUID) -> Totals:
    R = UpdateSampleRow
    size = cast(func.coalesce(func.sum(R.size), 0), BigInteger)
    count, nbytes = session.execute(select(func.count(), size).where(R.job_id == job_id)).one()
    of_each = select(func.max(R.lost).label("lost")).where(R.job_id == job_id).group_by(R.attempt, R.rank).subquery()
    lost = session.scalar(select(cast(func.coalesce(func.sum(of_each.c.lost), 0), BigInteger)))
    return Totals(count, nbytes, lost or 0)


def put(session: Session, row: dict[str, Any]) -> None:
    """Store a sample in place of an earlier one of its worker and step."""
    statement = insert(UpdateSampleRow).values(row)
    replaced = {key: statement.excluded[key] for key in row if key not in _PLACE}
    session.execute(statement.on_conflict_do_update(index_elements=_PLACE, set_=replaced))


def ranks(session: Session, job_id: UUID) -> list[int]:
    """Return the workers that have samples."""
    R = UpdateSampleRow
    return list(session.scalars(select(R.rank).where(R.job_id == job_id).distinct().order_by(R.rank)))


def page(session: Session, job_id: UUID, *, of: Sequence[int], after: int, limit: int) -> list[tuple[UpdateSampleRow, bytes]]:
    """Return the first samples with a `seq` above `after`. `of`: only these workers; empty: all."""
    R = UpdateSampleRow
    wanted = [R.job_id == job_id, R.seq > after, *_of(of)]
    statement = select(R, R.content).where(*wanted).order_by(R.seq).limit(limit)
    return [(row, content) for row, content in session.execute(statement)]


def thinned(session: Session, job_id: UUID, *, of: Sequence[int], most: int) -> tuple[int, list[tuple[UpdateSampleRow, bytes]]]:
    """Return how many samples there are of these workers, and at most so many, evenly chosen, in the order of their arrival."""
    R = UpdateSampleRow
    numbered = (
        select(R.seq, func.row_number().over(order_by=R.seq.desc()).label("place")).where(R.job_id == job_id, *_of(of)).subquery()
    )
    count = session.scalar(select(func.count()).select_from(numbered)) or 0
    stride = max(1, -(-count // most))
    chosen = select(numbered.c.seq).where((numbered.c.place - 1) % stride == 0)
    statement = select(R, R.content).where(R.job_id == job_id, R.seq.in_(chosen)).order_by(R.seq)
    return count, [(row, content) for row, content in session.execute(statement)]


def overdue(session: Session, most: int, *, but: Collection[UUID]) -> list[UUID]:
    """Return ended jobs whose metrics' `retention` is over and that have samples, without those in `but`."""
    return list(session.scalars(_OVERDUE, {"most": most, "but": list(but), "forever": _FOREVER}))


def forget(session: Session, job_id: UUID) -> None:
    """Remove all samples of a job."""
    session.execute(delete(UpdateSampleRow).where(UpdateSampleRow.job_id == job_id))


def _of(ranks: Sequence[int]) -> list[ColumnElement[bool]]:
    return [UpdateSampleRow.rank.in_(ranks)] if ranks else []
