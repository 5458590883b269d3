"""Lists of jobs: their order, pages, and what is done to several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from backend.jobs.schemas import JobSummary
from backend.jobs.statuses import JobStatus
from backend.schemas import Schema


class JobSort(StrEnum):
    """What a list of jobs may be sorted by. Jobs that have no such value yet come last, both ways."""

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


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs, in which order. An empty list: any."""

    status: Sequence[JobStatus] = ()
    strategy: Sequence[str] = ()
    user: Sequence[str] = ()
    q: str | None = None
    sort: JobSort = JobSort.CREATED
    descending: bool = True


class JobPage(Schema):
    items: list[JobSummary]
    next_cursor: str | None
    total: int | None = Field(description="Jobs that fit, on all pages; null on pages after the first")
    read_at: datetime = Field(description="When the page was read, by the database's clock")


class Gone(Schema):
    """Deleted jobs, as the stream of all jobs tells of them."""

    ids: list[UUID]
    upto: int = Field(description="Who follows again later says this as `since`")


class JobCounts(Schema):
    """What there is to choose from."""

    status: dict[JobStatus, int]
    strategy: dict[str, int]
    user: dict[str, int]


class BulkAction(StrEnum):
    STOP = "stop"
    DELETE = "delete"


class Bulk(Schema):
    action: BulkAction
    ids: list[UUID] = Field(min_length=1, max_length=500)


class BulkItem(Schema):
    id: UUID
    done: bool
    message: str | None = Field(description="Why it was not done; null: it was")


class BulkAnswer(Schema):
    items: list[BulkItem] = Field(description="One for each id, in the order asked for")
