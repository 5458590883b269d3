"""What the platform would do with a job, before it is submitted."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from backend.jobs.schemas import JobWarning
from backend.jobs.submit_schemas import SubmitJob
from backend.schemas import Schema
from gradstream.advise.forecast import Memory, Size, Staleness, Traffic
from gradstream.process.order import Role


class PlanJob(SubmitJob):
    """A job as it would be submitted, and what its sender knows of the model."""

    size: Size | None = Field(
        None, description="Of the model; null: that of an earlier job with the same workload, if there is one"
    )


class PlannedProcess(Schema):
    role: Role
    rank: int = Field(description="Worker or shard number from 0; -1: the evaluator")
    label: str = Field(examples=["worker-0"])
    node: str
    gpu: int | None


class PlannedStart(Schema):
    now: bool = Field(description="It would be placed at once")
    reason: str | None = Field(description="Why it would wait, for programs", examples=["no_capacity"])
    message: str = Field(examples=["Waits for 2 free slots; 1 of 4 is free."])
    position: int | None = Field(description="Place in the queue, from 1; null where it would not wait")
    ahead: int = Field(description="Jobs in the queue that are served before it")
    processes: list[PlannedProcess] = Field(
        description="Where they would run; of a job that waits for room, where they would if nothing else ran; else none"
    )


class PlannedShards(Schema):
    count: int
    message: str
    sure: bool = Field(description="False: `auto` settles it by the model's size once the job runs")


class SizeFrom(Schema):
    """Where the size of the model is known from, and how large it is."""

    source: str = Field(description="given, job; for programs", examples=["job"])
    job: UUID | None = Field(description="The earlier job that it was measured in")
    message: str = Field(examples=["As measured in digits-adag, a job of the same code."])
    size: Size


class NodeMemory(Schema):
    node: str
    gpu: int | None = Field(description="The GPU of this number, which one process would have; null: the machine's own memory")
    role: Role | None = Field(description="Of the process that would have the GPU")
    needed: int = Field(description="Bytes of all processes that would be placed there")
    total: int


CodeState = Literal["missing", "not_uploaded", "checked"]


class Plan(Schema):
    code: CodeState = Field(
        description="missing: no bundle is named, so `submitJob` would refuse it; not_uploaded: the bundle is not here yet; "
        "checked: the bundle is here and fits the job file, as far as its text says"
    )
    start: PlannedStart
    shards: PlannedShards
    staleness: Staleness
    size: SizeFrom | None = Field(description="null: nobody knows it yet, so traffic and memory are null too")
    traffic: Traffic | None = Field(description="Of one worker")
    near: float | None = Field(description="Share of the traffic that stays within a machine, in shared memory")
    memory: Memory | None
    nodes: list[NodeMemory]
    warnings: list[JobWarning] = Field(description="Limits that the job file is over, with remedies; and what does not fit")
    notes: list[JobWarning]
