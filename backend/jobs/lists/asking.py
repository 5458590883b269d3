"""The parameters of requests for lists of jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from backend.jobs.lists.fields import MOST_COLUMNS, MOST_CONDITIONS, Condition, FieldName
from backend.jobs.lists.schemas import Archived, JobQuery, JobSort
from gradstream.api.statuses import JobStatus

_WHERE = "Conditions on fields, all of which hold; a job without the field fits none"
_COLUMN = (
    "Fields to show: a column of lists, a path in the job file such as `strategy.lr`, a result (`eval/NAME`, `user/NAME`), or "
    "`min:` or `max:` before a result"
)


def _query(
    status: Annotated[list[JobStatus] | None, Query(description="Any of these")] = None,
    strategy: Annotated[list[str] | None, Query(description="Any of these")] = None,
    user: Annotated[list[str] | None, Query(description="Any of these; names")] = None,
    tag: Annotated[list[str] | None, Query(description="All of these")] = None,
    archived: Annotated[Archived, Query(description="Archived jobs: left out, alone, or with the others")] = Archived.EXCLUDE,
    q: Annotated[str | None, Query(max_length=100, description="Part of the name, or the first letters of the id")] = None,
    where: Annotated[list[Condition] | None, Query(max_length=MOST_CONDITIONS, description=_WHERE)] = None,
    sort: Annotated[JobSort, Query(description="Jobs that have no such value yet come last, both ways")] = JobSort.CREATED,
    by: Annotated[FieldName | None, Query(description="Sort by this field, instead of `sort`")] = None,
    descending: Annotated[bool, Query(description="The greatest first; of `created`, the newest")] = True,
    column: Annotated[list[FieldName] | None, Query(max_length=MOST_COLUMNS, description=_COLUMN)] = None,
) -> JobQuery:
    return JobQuery(
        status or [], strategy or [], user or [], tag or [], archived, q, sort, descending, by, where or [], column or []
    )


QueryDep = Annotated[JobQuery, Depends(_query)]
