"""What happened in a job: its events, attempts and processes."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from backend.jobs.statuses import AttemptStatus, ProcessStatus
from backend.schemas import Schema
from gradstream.process.order import Role


class Event(Schema):
    seq: int
    time: datetime
    kind: str = Field(description="status, start, attempt, process, cut, target, warning, priority, retention", examples=["status"])
    actor: str = Field(description="`user:<name>`, `controller`, `node:<name>` or a process's label", examples=["controller"])
    message: str = Field(examples=["running: all 5 processes run"])
    data: dict[str, Any]


class Events(Schema):
    items: list[Event]


class CutRef(Schema):
    attempt: int
    cut: int


class Attempt(Schema):
    number: int
    status: AttemptStatus
    reason: str | None
    message: str | None
    started_at: datetime
    ended_at: datetime | None
    resumed_from: CutRef | None
    cut: int | None = Field(description="Its last committed cut")


class Attempts(Schema):
    items: list[Attempt]


class Process(Schema):
    id: UUID
    seq: int
    attempt: int
    role: Role
    rank: int = Field(description="Worker or shard number from 0; -1: the evaluator")
    incarnation: int = Field(description="Respawns of this rank within the attempt")
    node: str
    gpu: int | None
    status: ProcessStatus
    exit_code: int | None
    reason: str | None
    message: str | None
    started_at: datetime | None
    ended_at: datetime | None
    label: str = Field(examples=["worker-0"])


class Processes(Schema):
    items: list[Process]
