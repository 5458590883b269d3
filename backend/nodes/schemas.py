"""Nodes as users see them, and what their agents send and get."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from backend.jobs.statuses import ProcessStatus
from backend.schemas import Message, Schema
from gradstream.bounds import MAX_COUNT
from gradstream.process.order import ProcessOrder
from gradstream.process.watchdog import Hang

Bytes = Annotated[int, Field(ge=0, le=MAX_COUNT, description="Bytes")]
Load = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
"""Cores or shares."""
_END_OF_TIME = 253_370_764_800
"""The year 9999, in seconds since the epoch."""


class NodeStatus(StrEnum):
    READY = "ready"
    LOST = "lost"


class Gpu(Message):
    index: int = Field(ge=0, le=10_000)
    name: str = Field(max_length=200, examples=["NVIDIA H200"])
    memory: Bytes


class GpuUse(Gpu):
    used_by: UUID | None = Field(description="The process that has it for itself")


class NodeProcess(Schema):
    id: UUID
    job_id: UUID
    job: str = Field(description="The job's name")
    label: str
    status: ProcessStatus
    slot: int | None
    gpu: int | None
    started_at: datetime | None


class Node(Schema):
    id: UUID
    name: str = Field(examples=["node-1"])
    status: NodeStatus
    slots: int = Field(description="Workers that it takes at once")
    slots_used: int
    gpus: list[GpuUse]
    cpus: int
    memory: int = Field(description="Bytes")
    load: float | None = Field(description="Load average over the last minute; null until its agent has told")
    memory_used: int | None = Field(description="Bytes")
    version: str
    registered_at: datetime
    last_seen_at: datetime
    draining_since: datetime | None = Field(description="Since when no process is placed there; null: it takes processes")
    trouble: str | None = Field(description="Why jobs are kept away from it for now; null: they are not")
    trouble_since: datetime | None
    retry_at: datetime | None = Field(description="When a process is placed there again, to see whether it starts")
    processes: list[NodeProcess]


class Nodes(Schema):
    items: list[Node]


NodeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", examples=["node-1"])]
Machine = Annotated[
    str | None,
    Field(max_length=64, description="Made by the agent once, and kept: tells its restart from another machine of the same name"),
]


class Join(Message):
    name: NodeName
    machine: Machine = None


class Joining(Schema):
    version: str = Field(description="Of the platform; a machine that joins must have the same")
    time: datetime = Field(description="The platform's clock")
    live_url: str = Field(
        description="The live Redis, which wakes agents. A host of 0.0.0.0 or [::] stands for the host of the API's address",
        examples=["redis://node@0.0.0.0:8001"],
    )
    live_password: str | None
    plane_url: str = Field(description="The gradient plane, likewise. Each attempt has an account of its own there")


class Register(Message):
    name: NodeName
    machine: Machine = None
    slots: int = Field(ge=1, le=10_000)
    cpus: int = Field(ge=1, le=1_000_000)
    memory: Bytes
    gpus: list[Gpu] = Field(default_factory=list, max_length=1000)
    version: str
    labels: dict[str, str] = Field(default_factory=dict)


class Registered(Schema):
    node_id: UUID
    token: str = Field(description="The node's own token. Earlier ones of the same name end here")
    heartbeat_every: float = Field(description="Seconds")


class ReportedExit(Message):
    reason: str = Field(description="An exit reason; one that is not known here counts as `internal_error`", max_length=100)
    message: str = Field("", max_length=10_000)
    code: int = Field(0, ge=-(2**31), lt=2**31)


class Usage(Message):
    """What a process takes of its machine, its children with it."""

    at: float = Field(ge=0, le=_END_OF_TIME, allow_inf_nan=False, description="When it was measured, seconds since the epoch")
    cpu: Load | None = Field(description="Cores, the mean since the look before; null at the first look")
    memory: Bytes = Field(description="Bytes resident")
    gpu: Load | None = Field(None, description="Share of the time that its GPU worked")
    gpu_memory: Bytes | None = Field(None, description="Bytes taken on its GPU")


class ReportedProcess(Message):
    id: UUID
    state: str = Field(
        description="`starting`, `running` or `exited`; one that is not known here changes nothing", max_length=100,
        examples=["running"],
    )  # fmt: skip
    pid: int | None = Field(None, ge=0, lt=2**31)
    exit: ReportedExit | None = None
    log_offset: int | None = Field(None, ge=0, le=MAX_COUNT, description="Bytes of its output sent so far")
    usage: Usage | None = Field(None, description="Of a process that runs, every now and then")
    hang: Hang | None = Field(None, description="Of a process that starts: user code that takes long")


class Heartbeat(Message):
    processes: list[ReportedProcess] = Field(
        default_factory=list,
        max_length=100_000,
        description="All that the agent knows of, ended ones until they are no longer desired",
    )
    load: Load | None = Field(None, description="Load average over the last minute")
    memory_used: Bytes | None = None


class Desired(Schema):
    desired: list[ProcessOrder] = Field(description="What should run on this node now, and nothing else")
    heartbeat_every: float = Field(description="Seconds")
