"""Lists of jobs: filtered, in any order that they show, page by page.

A page begins behind a row, not at a number, so jobs that come and go meanwhile neither repeat nor hide others. The time of
submission and the id settle ties, in the same direction: the order is total, and one index serves both ways.

A row of a list is built without its job file, which is most of a job and neither read nor checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, cast, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session, contains_eager, defer

from backend.db import now
from backend.jobs.lists.schemas import Archived, JobCounts, JobQuery, JobSort
from backend.jobs.models import JobRow
from backend.progress.summary import headway
from backend.users.models import UserRow
from backend.web import paging
from gradstream.api.jobs import JobPage, JobSummary
from gradstream.api.statuses import JobStatus

S = TypeVar("S", bound=Select[Any])

Column = InstrumentedAttribute[Any]

_LAST: tuple[Column, ...] = (JobRow.created_at, JobRow.id)
_COLUMNS: dict[JobSort, Column] = {
    JobSort.CREATED: JobRow.created_at,
    JobSort.NAME: JobRow.name,
    JobSort.STATUS: JobRow.status,
    JobSort.STRATEGY: JobRow.strategy,
    JobSort.USER: UserRow.name,
    JobSort.WORKERS: JobRow.workers,
    JobSort.PRIORITY: JobRow.priority,
    JobSort.ACCURACY: JobRow.accuracy,
    JobSort.LOSS: JobRow.loss,
    JobSort.THROUGHPUT: JobRow.samples_per_second,
    JobSort.STALENESS: JobRow.mean_staleness,
}
_LEAN = select(JobRow).join(JobRow.owner).options(contains_eager(JobRow.owner), defer(JobRow.spec, raiseload=True))
_PLAIN = JobSummary.model_fields.keys() - {"progress"}
_SHORTEST_ID = 4
"""Letters from which on a search also looks at ids."""


def page(session: Session, query: JobQuery, *, limit: int, cursor: str | None) -> JobPage:
    """Raises: Invalid: the cursor is not of a list in this order."""
    order = f"{query.sort}{'-' if query.descending else '+'}"
    behind = paging.decode(cursor, order) if cursor else None
    rows = _rows(session, query, behind, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return JobPage(
        items=[_summary(row) for row in rows[:limit]],
        next_cursor=last and paging.encode(paging.Cursor(order, _value(last, query.sort), last.created_at, last.id)),
        total=session.scalar(_fitting(select(func.count()).select_from(JobRow).join(JobRow.owner), query)) if not cursor else None,
        read_at=now(session),
    )


def summaries(session: Session, ids: Sequence[UUID]) -> list[JobSummary]:
    """Return the summaries of the jobs that exist, in this order."""
    found = {row.id: row for row in session.scalars(_LEAN.where(JobRow.id.in_(ids)))}
    return [_summary(found[job_id]) for job_id in ids if job_id in found]


def _summary(row: JobRow) -> JobSummary:
    figures = {column: getattr(row, column) for column in ("loss", "samples_per_second", "mean_staleness")}
    return JobSummary(**{name: getattr(row, name) for name in _PLAIN}, progress=headway(row.progress, figures))


def _value(row: JobRow, sort: JobSort) -> paging.Value:
    """Return the value that the row is sorted by; None for `created`, whose time each cursor has."""
    if sort is JobSort.CREATED:
        return None
    found: paging.Value = row.user if sort is JobSort.USER else getattr(row, _COLUMNS[sort].key)
    return found


def _rows(session: Session, query: JobQuery, behind: paging.Cursor | None, most: int) -> list[JobRow]:
    """Two ranges of an index, one after the other: the jobs that have a value, and those without one."""
    submitted = (behind.created_at, behind.id) if behind else None
    if query.sort is JobSort.CREATED:
        return _range(session, query, _LAST, submitted, most)
    column, rows = _COLUMNS[query.sort], []
    if behind is None or behind.value is not None:
        after = (behind.value, behind.created_at, behind.id) if behind else None
        rows, submitted = _range(session, query, (column, *_LAST), after, most, column.is_not(None)), None
    if len(rows) < most and column.property.columns[0].nullable:
        rows += _range(session, query, _LAST, submitted, most - len(rows), column.is_(None))
    return rows


def _range(
    session: Session, query: JobQuery, order: Sequence[Column], after: tuple[Any, ...] | None, most: int, *only: ColumnElement[bool]
) -> list[JobRow]:
    statement = _fitting(_LEAN, query).where(*only)
    if after is not None:
        reached = tuple_(*order)
        statement = statement.where(reached < after if query.descending else reached > after)
    turned = [column.desc() if query.descending else column.asc() for column in order]
    return list(session.scalars(statement.order_by(*turned).limit(most)))


def _fitting(statement: S, query: JobQuery) -> S:
    if query.status:
        statement = statement.where(JobRow.status.in_(query.status))
    if query.strategy:
        statement = statement.where(JobRow.strategy.in_(query.strategy))
    if query.user:
        statement = statement.where(UserRow.name.in_(query.user))
    if query.tag:
        statement = statement.where(JobRow.tags.contains(list(query.tag)))
    if query.archived is not Archived.INCLUDE:
        statement = statement.where(JobRow.archived.is_(query.archived is Archived.ONLY))
    if query.q:
        found = JobRow.name.icontains(query.q, autoescape=True)
        by_id = cast(JobRow.id, String).startswith(query.q.lower(), autoescape=True)
        statement = statement.where(or_(found, by_id) if len(query.q) >= _SHORTEST_ID else found)
    return statement


def counts(session: Session) -> JobCounts:
    grouped = (
        select(JobRow.status, JobRow.strategy, UserRow.name, func.count().label("jobs"))
        .join(JobRow.owner)
        .where(JobRow.archived.is_(False))
        .group_by(JobRow.status, JobRow.strategy, UserRow.name)
    )
    tags = select(func.jsonb_array_elements_text(JobRow.tags).label("tag")).where(JobRow.archived.is_(False)).subquery()
    by_tag = {tag: jobs for tag, jobs in session.execute(select(tags.c.tag, func.count()).group_by(tags.c.tag))}
    archived = session.scalar(select(func.count()).where(JobRow.archived.is_(True))) or 0
    found = JobCounts(status={}, strategy={}, user={}, tag=by_tag, archived=archived)
    for status, strategy, user, jobs in session.execute(grouped):
        found.status[JobStatus(status)] = found.status.get(JobStatus(status), 0) + jobs
        found.strategy[strategy] = found.strategy.get(strategy, 0) + jobs
        found.user[user] = found.user.get(user, 0) + jobs
    return found
