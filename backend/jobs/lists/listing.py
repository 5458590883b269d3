"""Lists of jobs: filtered, in any order that they show, page by page.

A page begins behind a row, not at a number, so jobs that come and go meanwhile neither repeat nor hide others. The time of
submission and the id settle ties, in the same direction: the order is total, and one index serves both ways.

A row of a list is built without its job file, which is most of a job and neither read nor checked here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, null, select, tuple_
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import InstrumentedAttribute, Session, contains_eager, defer

from backend.db import now
from backend.jobs.lists.fields import as_scalar, value_of
from backend.jobs.lists.filters import fitting
from backend.jobs.lists.schemas import JobCounts, JobQuery, JobSort
from backend.jobs.models import JobRow
from backend.progress.summary import headway
from backend.users.models import UserRow
from backend.web import paging
from gradstream.api.jobs import JobPage, JobSummary
from gradstream.api.statuses import JobStatus
from gradstream.errors import Invalid

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


def page(session: Session, query: JobQuery, *, limit: int, cursor: str | None) -> JobPage:
    """Raises: Invalid: the cursor is not of a list in this order, or a condition cannot be read."""
    order = f"{query.by or query.sort}{'-' if query.descending else '+'}"
    behind = paging.decode(cursor, order) if cursor else None
    rows = _rows(session, query, behind, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return JobPage(
        items=[_summary(row.job) for row in rows[:limit]],
        next_cursor=last and paging.encode(paging.Cursor(order, last.key, last.job.created_at, last.job.id)),
        total=session.scalar(fitting(select(func.count()).select_from(JobRow).join(JobRow.owner), query)) if not cursor else None,
        read_at=now(session),
        values={row.job.id: row.values for row in rows[:limit]} if query.columns else {},
    )


def rows(session: Session, query: JobQuery, most: int) -> list[dict[str, Any]]:
    """Return the values of the query's columns, of as many jobs. Raises: Invalid."""
    return [row.values for row in _rows(session, query, None, most)]


def summaries(session: Session, ids: Sequence[UUID]) -> list[JobSummary]:
    """Return the summaries of the jobs that exist, in this order."""
    found = {row.id: row for row in session.scalars(_LEAN.where(JobRow.id.in_(ids)))}
    return [_summary(found[job_id]) for job_id in ids if job_id in found]


def _summary(row: JobRow) -> JobSummary:
    figures = {column: getattr(row, column) for column in ("loss", "samples_per_second", "mean_staleness")}
    return JobSummary(**{name: getattr(row, name) for name in _PLAIN}, progress=headway(row.progress, figures))


class _Row(NamedTuple):
    job: JobRow
    key: paging.Value
    """The value that the list is sorted by, that of a field as JSON; None for `created`, whose time each cursor has."""
    values: dict[str, Any]


def _rows(session: Session, query: JobQuery, behind: paging.Cursor | None, most: int) -> list[_Row]:
    """Two ranges, of an index unless by a field, one after the other: the jobs that have a value, and those without one."""
    submitted = (behind.created_at, behind.id) if behind else None
    if query.sort is JobSort.CREATED and query.by is None:
        return _range(session, query, None, submitted, most)
    key, rows = value_of(query.by) if query.by else _COLUMNS[query.sort], []
    if behind is None or behind.value is not None:
        after = (behind.value, behind.created_at, behind.id) if behind else None
        rows, submitted = _range(session, query, key, after, most, key.is_not(None)), None
    if len(rows) < most and (not isinstance(key, InstrumentedAttribute) or key.property.columns[0].nullable):
        rows += _range(session, query, None, submitted, most - len(rows), key.is_(None))
    return rows


def _range(
    session: Session,
    query: JobQuery,
    key: ColumnElement[Any] | Column | None,
    after: tuple[Any, ...] | None,
    most: int,
    *only: ColumnElement[bool],
) -> list[_Row]:
    order = _LAST if key is None else (key, *_LAST)
    fields = [value_of(field) for field in query.columns]
    statement = fitting(_LEAN, query).where(*only).add_columns(null() if key is None else key, *fields)
    if after is not None:
        reached, behind = tuple_(*order), _bound(query, after)
        statement = statement.where(reached < behind if query.descending else reached > behind)
    turned = [column.desc() if query.descending else column.asc() for column in order]
    found = session.execute(statement.order_by(*turned).limit(most)).all()
    keys = [json.dumps(at) if query.by and key is not None else at for _, at, *_ in found]
    return [_Row(row[0], at, _present(query.columns, row[2:])) for row, at in zip(found, keys, strict=True)]


def _bound(query: JobQuery, after: tuple[Any, ...]) -> Any:
    """The values of a cursor, for a comparison. Raises: Invalid."""
    if query.by is None or len(after) == len(_LAST):
        return after
    try:
        return tuple_(literal(json.loads(after[0]), JSONB), *after[1:])
    except (TypeError, ValueError) as error:
        raise Invalid("The cursor is not valid; start without a cursor.") from error


def _present(fields: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return {field: as_scalar(value) for field, value in zip(fields, values, strict=True) if value is not None}


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
