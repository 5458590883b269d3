"""Nodes as users see them, and what their agents send and get."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from backend.schemas import Message, Schema
from gradstream.api.platform import Node
from gradstream.bounds import MAX_COUNT
from gradstream.process.order import ProcessOrder
from gradstream.process.watchdogs.start import Hang
from gradstream.sandbox.sandbox import Network

Bytes = Annotated[int, Field(ge=0, le=MAX_COUNT, description="Bytes")]
Load = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
"""Cores or shares."""


def _or_nothing(told: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(told)
    except ValidationError:
        return None


Beside = WrapValidator(_or_nothing)
"""Makes a value in a form that this version does not know count as not told: a refused report would cost the node its jobs."""
Word = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]
"""One of a few words. Newer agents may send another one."""
Shown = Annotated[str, Field(max_length=200)]
_END_OF_TIME = 253_370_764_800
"""The year 9999, in seconds since the epoch."""


class ReportedGpu(Message):
    index: int = Field(ge=0, le=10_000)
    name: str = Field(max_length=200, examples=["NVIDIA H200"])
    memory: Bytes


class ReportedIsolation(Message):
    """Separation of a node's job processes from the platform and from each other."""

    level: Word = Field(
        description="namespace: a process sees its own part of the platform only; user: accounts of their own; none"
    )
    account: bool = Field(False, description="Each process has a user id of its own")
    note: str = Field("", max_length=2000, description="Reason why a stronger level is not possible; empty: this is the strongest")
    network: Word = Field(Network.INTERNET, description="platform: they reach the data plane and the API only; internet: all")


class ReportedTorch(Message):
    """The torch of a node's processes."""

    version: Word = Field(examples=["2.13.0"])
    cuda: Word | None = Field(None, description="Version of CUDA that it was built for; null: it cannot use GPUs")


class Nodes(Schema):
    items: list[Node]


NodeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", examples=["node-1"])]


class JoinRequest(Message):
    name: NodeName


class Joining(Schema):
    version: str = Field(description="Version of the platform; a machine that joins must have the same")
    time: datetime = Field(description="The platform's clock")
    live_url: str = Field(
        description="The live Redis, which wakes agents. A node learns its account there when it registers. "
        "A host of 0.0.0.0 or [::] stands for the host of the API's address",
        examples=["redis://0.0.0.0:8001"],
    )
    plane_url: str = Field(
        description="The data plane, with the same rule for its host. Each attempt has an account of its own there"
    )


class Register(Message):
    name: NodeName
    credential: str | None = Field(
        None,
        min_length=32,
        max_length=200,
        description="With a join token: random secret of the agent, with which it registers from now on",
    )
    slots: int = Field(ge=1, le=10_000)
    cpus: int = Field(ge=1, le=1_000_000)
    memory: Bytes
    gpus: list[ReportedGpu] = Field(default_factory=list, max_length=1000)
    version: Shown
    labels: dict[Shown, Shown] = Field(default_factory=dict, max_length=100)
    isolation: Annotated[ReportedIsolation | None, Beside] = None
    torch: Annotated[ReportedTorch | None, Beside] = None


class Rotate(Message):
    credential: str = Field(min_length=32, max_length=200, description="The credential that the agent changes to")


class Rotated(Schema):
    live_password: str = Field(description="Password on the live Redis: another one once the new credential has been used")


class Registered(Schema):
    node_id: UUID
    token: str = Field(description="Bearer token of the agent until it registers again; the previous token is revoked")
    live_password: str = Field(
        description="Password of the account `node.<id in hex>` on the live Redis; the account reads the queue of that name"
    )
    heartbeat_every: float = Field(description="Seconds")


class ReportedExit(Message):
    reason: str = Field(description="Exit reason; the platform reads an unknown one as `internal_error`", max_length=100)
    message: str = Field("", max_length=10_000)
    code: int = Field(0, ge=-(2**31), lt=2**31)


class ReportedUsage(Message):
    """The share of its machine that a process takes, its children with it."""

    at: float = Field(ge=0, le=_END_OF_TIME, allow_inf_nan=False, description="Time of the measurement, seconds since the epoch")
    cpu: Load | None = Field(description="Cores, mean since the last measurement; null: this is the first")
    memory: Bytes = Field(description="Bytes resident")
    gpu: Load | None = Field(None, description="Share of the time that it worked on its GPUs")
    gpu_memory: Bytes | None = Field(None, description="Bytes that it has on its GPUs")


class ReportedProcess(Message):
    id: UUID
    state: str = Field(
        description="`starting`, `running` or `exited`; the platform ignores an unknown one",
        max_length=100,
        examples=["running"],
    )
    pid: Annotated[int | None, Beside] = Field(None, ge=0, lt=2**31)
    exit: Annotated[ReportedExit | None, Beside] = None
    log_offset: int | None = Field(None, ge=0, le=MAX_COUNT, description="Bytes of its output sent so far")
    usage: Annotated[ReportedUsage | None, Beside] = Field(None, description="Resources of a running process, every few seconds")
    hang: Annotated[Hang | None, Beside] = Field(None, description="User code that blocks the start of the process")


class Heartbeat(Message):
    processes: list[ReportedProcess] = Field(
        default_factory=list,
        max_length=100_000,
        description="All processes of the agent; ended ones until they are no longer desired",
    )
    load: Annotated[Load | None, Beside] = Field(None, description="Load average over the last minute")
    memory_used: Annotated[Bytes | None, Beside] = None


class DesiredProcesses(Schema):
    desired: list[ProcessOrder] = Field(description="Processes that must run on this node now; the agent ends all others")
    heartbeat_every: float = Field(description="Seconds")
    rotate: bool = Field(False, description="The agent changes its credential: `rotateCredential`")
