"""The queue: who waits, and who holds machines."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from backend.jobs.statuses import JobStatus
from backend.schemas import Schema


class Waiting(Schema):
    """A job in the queue."""

    id: UUID
    name: str
    user: str
    priority: int
    position: int = Field(description="Place in the order in which jobs are served, from 1")
    reason: str | None = Field(description="Why it waits, for programs", examples=["no_capacity"])
    message: str | None = Field(description="The same as a sentence")
    workers: int
    device: str = Field(examples=["auto"])
    created_at: datetime
    attempt: int = Field(description="Attempts that it has had")


class Held(Schema):
    """What a job has on a node."""

    id: UUID
    name: str
    processes: int
    slots: int
    gpus: int


class Holder(Schema):
    """A job that has machines."""

    id: UUID
    name: str
    user: str
    priority: int
    status: JobStatus
    slots: int
    gpus: int
    since: datetime = Field(description="When the oldest of its processes was placed")
    nodes: list[Held]


class Queue(Schema):
    waiting: list[Waiting] = Field(description="The first 500, in the order in which they are served")
    waiting_total: int
    holding: list[Holder] = Field(description="Those with the most slots first, at most 500")


class ChangePriority(Schema):
    priority: int = Field(ge=0, le=100, description="Higher starts first")
