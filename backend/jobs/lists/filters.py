"""Which jobs a list shows, in SQL."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import Select, String, cast, or_

from backend.jobs.lists.fields import fits
from backend.jobs.lists.schemas import Archived, JobQuery
from backend.jobs.models import JobRow
from backend.users.models import UserRow

S = TypeVar("S", bound=Select[Any])
_SHORTEST_ID = 4
"""Letters from which on a search also looks at ids."""


def fitting(statement: S, query: JobQuery) -> S:
    """The statement, of jobs and their owners, for the jobs that the query names alone. Raises: Invalid."""
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
    for place, condition in enumerate(query.where):
        statement = statement.where(fits(condition, place))
    return statement
