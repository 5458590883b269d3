from __future__ import annotations

from uuid import UUID

from pydantic import Field

from backend.jobs.statuses import JobStatus
from backend.schemas import Schema


class Reached(Schema):
    """The first point that reached the target."""

    value: float
    time: float = Field(description="Seconds since the epoch, clock of whoever measured")
    seconds: float = Field(description="Since the first attempt was placed")
    samples: int
    samples_before: int | None = Field(
        description="Of the point before it: the target was reached somewhere behind these samples. null: it was the first point"
    )
    step: int
    version: int
    sent_bytes: float = Field(description="Bytes of vectors that all workers had sent until then")
    attempt: int
    source: str = Field(examples=["evaluator"])
    rank: int = Field(description="The worker that it is about; -1: none")


class JobTarget(Schema):
    job: UUID
    name: str = Field(examples=["digits-adag"])
    strategy: str = Field(examples=["adag"])
    status: JobStatus
    reached: Reached | None = Field(description="null: never, so far")
    best: float | None = Field(description="The value nearest to the target, or furthest beyond it; null if none was measured")


class Targets(Schema):
    metric: str = Field(examples=["eval/accuracy"])
    at_least: float | None
    at_most: float | None
    items: list[JobTarget] = Field(description="The quickest first, those that never reached it last")
    missing: list[UUID] = Field(description="Asked for, but not there: they may have been deleted")
