"""The history of a job: its events, attempts and processes."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.code import UncommittedChange
from gradstream.api.history import Event, Process
from gradstream.api.statuses import AttemptStatus


class Events(Schema):
    items: list[Event]


class CheckpointRef(Schema):
    attempt: int
    checkpoint: int


class Attempt(Schema):
    number: int
    status: AttemptStatus
    reason: str | None
    message: str | None
    started_at: datetime
    ended_at: datetime | None
    resumed_from: CheckpointRef | None
    checkpoint: int | None = Field(description="Its last committed checkpoint")


class UncommittedChanges(Schema):
    items: list[UncommittedChange] = Field(description="By path; empty, too, where the client sent none")


class Attempts(Schema):
    items: list[Attempt]


class Processes(Schema):
    items: list[Process]
