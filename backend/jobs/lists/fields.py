"""Fields of jobs that lists show, sort by and filter by: settings of the job file, results, and the columns of every list.

A field is a column of lists (`name`, `loss`), a result (`eval/accuracy`, `min:eval/loss`, `user/grad_norm`) or a path in the job
file (`strategy.lr`). A path of one part is a key of the job file, else of its strategy, else an argument of its workload. Each
value is JSON, which Postgres compares as such: numbers by size, and before texts. Lists show lists and mappings as their text."""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import ColumnElement, Numeric, String, and_, case, cast, func, literal, literal_column, select, type_coerce
from sqlalchemy.dialects.postgresql import JSONB

from backend.jobs.models import JobRow
from backend.users.models import UserRow
from gradstream.errors import Invalid, Mistake

MOST_COLUMNS = 20
MOST_CONDITIONS = 10
FieldName = Annotated[str, Field(pattern=r"^[^\s,\x00][^,\n\r\t\x00]{0,199}$", examples=["strategy.lr", "eval/accuracy"])]
Condition = Annotated[str, Field(max_length=400, examples=["strategy.lr>=0.1", "eval/accuracy>0.9", "workload.args.name=digits"])]

LOWEST, HIGHEST = "min:", "max:"
"""Before a result: its lowest or highest value, instead of the last one."""
_LONGEST_TEXT = 200
_EVAL = "eval/"
_CONDITION = re.compile(r"\s*(?P<field>[^=<>!]+?)\s*(?P<operator>!=|<=|>=|=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)
_TAGS = select(func.string_agg(func.jsonb_array_elements_text(JobRow.tags).column_valued("tag"), ", ")).scalar_subquery()
OWN: dict[str, ColumnElement[Any]] = {
    "id": cast(JobRow.id, String),
    "name": JobRow.name.expression,
    "tags": _TAGS,
    "status": JobRow.status.expression,
    "strategy": JobRow.strategy.expression,
    "gate": JobRow.gate.expression,
    "user": UserRow.name.expression,
    "workers": JobRow.workers.expression,
    "priority": JobRow.priority.expression,
    "accuracy": JobRow.accuracy.expression,
    "loss": JobRow.loss.expression,
    "throughput": JobRow.samples_per_second.expression,
    "staleness": JobRow.mean_staleness.expression,
    "created": JobRow.created_at.expression,
    "started": JobRow.started_at.expression,
    "ended": JobRow.ended_at.expression,
}
"""Columns of every list, in their order in a table."""


def value_of(field: str) -> ColumnElement[Any]:
    """The field of a job as JSON; NULL where the job has none."""
    return type_coerce(func.nullif(_found(field), literal_column("'null'::jsonb")), JSONB)


def as_scalar(value: Any) -> Any:
    """A list or a mapping as its text."""
    return json.dumps(value)[:_LONGEST_TEXT] if isinstance(value, list | dict) else value


def number_of(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The number that a JSON value is; NULL for another."""
    return case((func.jsonb_typeof(value) == "number", cast(value, Numeric)))


def _found(field: str) -> ColumnElement[Any]:
    if field in OWN:
        return func.to_jsonb(OWN[field])
    which, name = (
        ("low" if field.startswith(LOWEST) else "high", field[4:]) if field.startswith((LOWEST, HIGHEST)) else ("last", field)
    )
    if which == "last" and name.startswith(_EVAL):
        return _at(JobRow.progress, "eval", name.removeprefix(_EVAL))
    if "/" in name:
        return _at(JobRow.progress, "results", which, name)
    parts = name.split(".")
    if len(parts) > 1:
        return _at(JobRow.spec, *parts)
    return func.coalesce(*(_at(JobRow.spec, *above, name) for above in ((), ("strategy",), ("workload", "args"))))


def _at(column: Any, *path: str) -> ColumnElement[Any]:
    return func.jsonb_extract_path(column, *path)


def fits(condition: str, place: int) -> ColumnElement[bool]:
    """The condition in SQL. A job without such a value does not fit, whatever the comparison. Raises: Invalid."""
    parsed = _CONDITION.fullmatch(condition)
    if not parsed:
        message = "write a field, one of = != < <= > >= and a value, such as strategy.lr>=0.1"
        raise Invalid(f"The condition '{condition[:80]}' cannot be read.", [Mistake(f"/query/where/{place}", message)])
    value, wanted = value_of(parsed["field"]), _scalar(parsed["value"])
    right = literal(wanted, JSONB)
    same_kind = func.jsonb_typeof(value) == func.jsonb_typeof(right)
    match parsed["operator"]:
        case "=":
            return value == right
        case "!=":
            return value != right
        case "<":
            return and_(same_kind, value < right)
        case "<=":
            return and_(same_kind, value <= right)
        case ">":
            return and_(same_kind, value > right)
    return and_(same_kind, value >= right)


def _scalar(text: str) -> str | int | float | bool:
    """A number, a truth value or a text; a text in quotes is never a number."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if isinstance(found, str | bool | int) or (isinstance(found, float) and math.isfinite(found)):
        return found
    return text
