"""Tables of jobs: the fields that they can have, groups with statistics, and all rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.jobs.lists import listing
from backend.jobs.lists.fields import OWN, as_scalar, number_of, value_of
from backend.jobs.lists.filters import fitting
from backend.jobs.lists.schemas import FieldStatistics, JobFields, JobGroup, JobGroups, JobQuery
from backend.jobs.models import JobRow
from backend.progress.results import EVAL

_LOOKED_AT = 200
"""The newest jobs, whose fields are offered."""
MOST_GROUPS = 200
MOST_ROWS = 20_000
"""Rows of a table as CSV."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets compute text that begins so."""


def fields(session: Session, query: JobQuery) -> JobFields:
    """Return the fields of the newest jobs that the query finds."""
    newest = (
        fitting(select(JobRow.spec, JobRow.progress).join(JobRow.owner), query).order_by(JobRow.created_at.desc()).limit(_LOOKED_AT)
    )
    settings, results = dict[str, None](), dict[str, None]()
    for spec, progress in session.execute(newest):
        settings |= dict.fromkeys(_leaves(spec, ()))
        results |= dict.fromkeys(f"{EVAL}{name}" for name in progress.get("eval", {}))
        results |= dict.fromkeys(progress.get("results", {}).get("last", {}))
    return JobFields(settings=sorted(settings), results=sorted(results))


def _leaves(value: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    """Paths of the scalars in a job file that have one; keys that a path cannot name are left out."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*above, key))
        elif inner is not None and not any(mark in key for mark in "./,\n\r\t\x00") and (above or key not in OWN):
            yield ".".join((*above, key))


def groups(session: Session, query: JobQuery, by: str) -> JobGroups:
    """Return groups of the jobs with one value of `by`, with statistics of the numbers in the query's columns. Raises: Invalid."""
    fields = list(query.columns)
    read = [value_of(field).label(f"value_{place}") for place, field in enumerate(fields)]
    rows = fitting(select(value_of(by).label("shared"), *read).select_from(JobRow).join(JobRow.owner), query).offset(0).subquery()
    numbers = [number_of(rows.c[column.name]) for column in read]
    each = [function(number) for number in numbers for function in (func.count, func.avg, func.stddev_samp, func.min, func.max)]
    grouped = select(rows.c.shared, func.count().label("jobs"), *each).group_by(rows.c.shared)
    found = session.execute(grouped.order_by(func.count().desc(), rows.c.shared).limit(MOST_GROUPS + 1)).all()
    items = [_group(fields, *row) for row in found[:MOST_GROUPS]]
    return JobGroups(items=items, more=len(found) > MOST_GROUPS)


def _group(fields: Sequence[str], value: Any, jobs: int, *figures: Any) -> JobGroup:
    parts = [figures[5 * place : 5 * place + 5] for place in range(len(fields))]
    columns = {field: _statistics(*part) for field, part in zip(fields, parts, strict=True) if part[0]}
    return JobGroup(value=as_scalar(value), jobs=jobs, columns=columns)


def _statistics(count: int, *figures: Any) -> FieldStatistics:
    mean, spread, low, high = (None if figure is None else float(figure) for figure in figures)
    return FieldStatistics(count=count, mean=mean, spread=spread, low=low, high=high)


def as_csv(session: Session, query: JobQuery) -> str:
    """Return the query's columns of all jobs that it names, in its order, at most `MOST_ROWS`. Raises: Invalid."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = list(dict.fromkeys(("id", "name", *query.columns)))
    writer.writerow(columns)
    for row in listing.rows(session, replace(query, columns=columns), MOST_ROWS):
        writer.writerow([_cell(row.get(column)) for column in columns])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A number as it is; a text that a spreadsheet would compute, behind an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
