"""Lists of jobs: their order, pages, and changes to several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.statuses import JobStatus
from gradstream.spec.values import Tags


class JobSort(StrEnum):
    """The order of a list of jobs. Jobs that have no such value yet come last, both ways."""

    CREATED = "created"
    NAME = "name"
    STATUS = "status"
    STRATEGY = "strategy"
    USER = "user"
    WORKERS = "workers"
    PRIORITY = "priority"
    ACCURACY = "accuracy"
    LOSS = "loss"
    THROUGHPUT = "throughput"
    STALENESS = "staleness"


class Archived(StrEnum):
    """Archived jobs in a list: left out, alone, or with the others."""

    EXCLUDE = "exclude"
    ONLY = "only"
    INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs, in which order. An empty list: any. `tag`: all of these."""

    status: Sequence[JobStatus] = ()
    strategy: Sequence[str] = ()
    user: Sequence[str] = ()
    tag: Sequence[str] = ()
    archived: Archived = Archived.EXCLUDE
    q: str | None = None
    sort: JobSort = JobSort.CREATED
    descending: bool = True
    by: str | None = None
    """A field to sort by instead of `sort`."""
    where: Sequence[str] = ()
    """Conditions, all of which hold."""
    columns: Sequence[str] = ()
    """Fields whose values are read beside the rows."""


class Gone(Schema):
    """Deleted jobs, as the stream of all jobs tells of them."""

    ids: list[UUID]
    upto: int = Field(description="Give it as `since` to follow from here")


class JobCounts(Schema):
    """Numbers of jobs by status, strategy and user."""

    status: dict[JobStatus, int]
    strategy: dict[str, int]
    user: dict[str, int]
    tag: dict[str, int]
    archived: int = Field(description="These are in none of the other numbers")


class JobFields(Schema):
    """Fields that jobs have beside the columns of every list."""

    settings: list[str] = Field(description="Paths in the job files", examples=[["strategy.lr"]])
    results: list[str] = Field(description="Figures of evaluations and logged values", examples=[["eval/accuracy"]])


class FieldStatistics(Schema):
    """Numbers of one field over the jobs of a group."""

    count: int = Field(description="Jobs that have a number there")
    mean: float | None
    spread: float | None = Field(description="Standard deviation of the sample; null for fewer than two jobs")
    low: float | None
    high: float | None


class JobGroup(Schema):
    value: str | float | int | bool | None = Field(description="The value that its jobs share; null: they have none")
    jobs: int
    columns: dict[str, FieldStatistics] = Field(description="By field; those in which a job of the group has a number")


class JobGroups(Schema):
    items: list[JobGroup] = Field(description="The largest first")
    more: bool = Field(description="There are more groups")


class BulkAction(StrEnum):
    STOP = "stop"
    DELETE = "delete"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    ADD_TAGS = "add_tags"
    REMOVE_TAGS = "remove_tags"


class Bulk(Schema):
    action: BulkAction
    ids: list[UUID] = Field(min_length=1, max_length=500)
    tags: Tags = Field(default_factory=list, description="Tags that `add_tags` adds, and `remove_tags` removes")


class BulkItem(Schema):
    id: UUID
    done: bool
    message: str | None = Field(description="Reason for the failure; null: done")


class BulkAnswer(Schema):
    items: list[BulkItem] = Field(description="One item per id, in the order of the request")
