"""The forecast of a job, before it is submitted."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from gradstream.api.base import ApiModel, Known
from gradstream.api.jobs import JobWarning
from gradstream.process.order import Role

CodeState = Literal["missing", "not_uploaded", "checked"]


class TableSize(BaseModel, frozen=True):
    """An embedding table, as measured in some mini-batches of one worker."""

    name: str = Field(max_length=200)
    row_bytes: int = Field(ge=1, le=10**9, description="Bytes of a row in the memory of its server")
    cold_row_bytes: int = Field(
        0, ge=0, le=10**9, description="The same of a row whose vector lies on the disk; 0: all rows stay in memory"
    )
    keys: float = Field(ge=0, le=10**12, allow_inf_nan=False, description="Distinct keys of a mini-batch")
    push_bytes: float = Field(ge=0, le=10**15, allow_inf_nan=False, description="Bytes of their gradients")
    pull_bytes: float = Field(ge=0, le=10**15, allow_inf_nan=False, description="Bytes of their rows")
    samples: int = Field(ge=1, le=10**15, description="Samples of all measured mini-batches")
    distinct: int = Field(ge=1, le=10**15, description="Distinct keys of all measured mini-batches")
    growth: float = Field(ge=0, le=1, description="Exponent of Heaps' law: keys grow as samples ** growth")
    cached: float | None = Field(
        None, ge=0, le=1, description="Share of looked-up rows that a cache of each worker saves; null: too few mini-batches"
    )
    cache_bound: int = Field(0, ge=0, lt=2**31, description="Bound of that cache")


class Size(BaseModel, frozen=True):
    """The known sizes of a model."""

    parameters: int = Field(ge=1, le=10**12, description="Trained parameters, of all members together", examples=[101_770])
    step: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Seconds that one worker takes for a mini-batch", examples=[0.004]
    )


class MeasuredSize(Size, frozen=True):
    """The sizes of a model, as the sender of a job has measured them."""

    epoch_samples: int | None = Field(None, ge=1, le=10**15, description="Samples of an epoch of all workers; null: not known")
    largest_parameter: int | None = Field(None, ge=1, le=10**12, description="Elements of the largest parameter; null: not known")
    whole_parameters: int | None = Field(
        None, ge=0, le=10**12, description="Parameters that a group with `tensor` leaves whole in each process; null: not known"
    )
    tensor_processes: int | None = Field(
        None, ge=1, le=64, description="Processes of `tensor` that can divide layers: 16, 8, 4 or 2; 1: no layer; null: not known"
    )
    blocks: tuple[Annotated[int, Field(ge=0, le=10**12)], ...] | None = Field(
        None, max_length=10_000, description="Parameters of each block, in their order; null: not known, or the model names none"
    )
    own_blocks: tuple[Annotated[int, Field(ge=0, le=10**12)], ...] | None = Field(
        None,
        max_length=100_000,
        description="Trained parameters that each block has and no other part of the model, of all members; null: as `blocks`",
    )
    block_output: int | None = Field(
        None, ge=0, le=10**15, description="Bytes of the largest output of a block, of one example; null: not known"
    )
    activations: int | None = Field(
        None,
        ge=0,
        le=10**15,
        description="Bytes that forward keeps for backward, of one example, in float32 and without recompute; null: not known",
    )
    tables: tuple[TableSize, ...] | None = Field(None, max_length=1000, description="Its embedding tables; null: not measured")


class Staleness(BaseModel, frozen=True):
    mean: float = Field(description="Updates between a pull and the push computed from it, with workers of equal speed")
    reason: str = Field(description="The rule behind the mean, as a sentence")


class Traffic(BaseModel, frozen=True):
    """The traffic of one worker."""

    push_bytes: int = Field(description="Bytes of a push, as the codec sends it")
    pull_bytes: int = Field(description="Bytes of a pull, as pull_codec sends it")
    pushes: float | None = Field(description="Pushes per mini-batch; null: it depends on the length of an epoch")
    pulls: float | None = Field(description="Pulls per mini-batch")
    sent_per_second: float | None = Field(
        description="Bytes per second that a worker pushes if it never waits; null: its speed is not known"
    )
    received_per_second: float | None = Field(description="Bytes per second that it pulls, likewise")
    machine_bytes: int | None = Field(
        description="Bytes of theta that a mini-batch takes to each other machine of the worker's group. A gradient of as many "
        "comes back; null: the worker is on one machine"
    )


class Memory(BaseModel, frozen=True):
    """Vectors as long as the model, and activations where they are known. Mini-batches and some 300 MB of PyTorch for each process
    come on top."""

    worker: int = Field(description="Bytes of a worker, with all processes of its group")
    lead: int | None = Field(
        description="Bytes that the first process of a group has to itself, beside what all of them share; null: there is no group"
    )
    peer: int | None = Field(
        description="Bytes that each other process of a group has to itself, as `peer/memory` measures it; null: there is no group"
    )
    machine: int | None = Field(
        description="Bytes of the processes of a group on each machine beside the lead's; null: a worker is on one machine"
    )
    server: int = Field(
        description="Bytes of all shards together; vectors of workers on other machines come on top, which `nodes` counts"
    )
    evaluator: int
    activations: int | None = Field(
        description="Bytes of activations in each process of a worker, which no other figure here contains; null: not known"
    )


class PlannedProcess(ApiModel):
    role: Known[Role]
    rank: int = Field(description="Worker or shard number from 0; -1: the evaluator")
    label: str = Field(examples=["worker-0"])
    node: str
    gpus: list[int] = Field(description="GPU of each of its processes on its node; empty: it computes on the CPU")
    gpu_share: int = Field(1, description="k, if it would have 1/k of a GPU for each of its processes")


class PlannedStart(ApiModel):
    now: bool = Field(description="The job would start at once")
    reason: str | None = Field(description="Reason of the wait, for programs", examples=["no_capacity"])
    message: str = Field(examples=["Waits for 2 free slots; 1 of 4 is free."])
    position: int | None = Field(description="Place in the queue, from 1; null: it would not wait")
    ahead: int = Field(description="Jobs in the queue before it")
    processes: list[PlannedProcess] = Field(
        description="Placement of its processes; for a job that would wait for capacity, the placement on empty nodes; else none"
    )


class PlannedShards(ApiModel):
    count: int
    message: str
    sure: bool = Field(description="false: `auto` decides by the model's size once the job runs")


class SizeFrom(ApiModel):
    """The size of the model, and its source."""

    source: str = Field(description="given, job; for programs", examples=["job"])
    job: UUID | None = Field(description="The earlier job that measured it")
    message: str = Field(examples=["As measured in digits-adag, a job of the same code."])
    size: Size


class NodeMemory(ApiModel):
    node: str
    gpu: int | None = Field(description="Number of a GPU that processes would use; null: the machine's own memory")
    role: Known[Role] | None = Field(description="Role of the processes that would use the GPU")
    needed: int = Field(description="Bytes of all processes planned there, with their activations where they are known")
    total: int = Field(description="Bytes of the machine; or of the part of the GPU that these processes have")


class PlannedChange(ApiModel):
    """The smallest change of the job file with which every process fits into memory."""

    lines: list[str] = Field(
        description="Lines for the job file, each with a whole key at its top; empty: no change that the platform knows fits",
        examples=[["roles: {worker: {group: {stages: 4}}}", "accumulate: 16"]],
    )
    message: str = Field(description="The effect of the change, or the largest part that does not fit")


class PlannedTable(ApiModel):
    """Forecast of one embedding table."""

    name: str
    rows: int | None = Field(description="Rows to expect at the end, or after an epoch if that comes first; null: not known")
    row_bytes: int | None = Field(description="Bytes of a row in the memory of its server")
    server_bytes: int | None = Field(description="Bytes of these rows at each server")
    push_bytes: float | None = Field(description="Bytes of its gradients in the push of a mini-batch; null: not known")
    pull_bytes: float | None = Field(description="Bytes of its rows for a mini-batch")
    cached: float | None = Field(description="Share of looked-up rows that a cache of each worker would save")
    cache_bound: int | None = Field(description="Bound of that cache")
    full_at_rows: int | None = Field(description="Rows of the table when a server's part of its machine's memory is full")
    full_at_samples: int | None = Field(description="Samples after which it has so many; null: not known, or never")
    message: str = Field(description="The source of these numbers, as a sentence")


class PlannedTables(ApiModel):
    message: str = Field(description="The facts that are known, and those that only running the code can tell")
    items: list[PlannedTable]


class Plan(ApiModel):
    code: Known[CodeState] = Field(
        description="missing: the job names no bundle, so `submitJob` would refuse it; not_uploaded: the platform does not have "
        "the bundle yet; checked: the platform has it, and it fits the job file"
    )
    start: PlannedStart
    shards: PlannedShards
    staleness: Staleness
    size: SizeFrom | None = Field(description="null: not known yet, so traffic and memory are null too")
    traffic: Traffic | None = Field(description="Traffic of one worker")
    local_share: float | None = Field(description="Share of the traffic that stays within a machine, in shared memory")
    memory: Memory | None
    nodes: list[NodeMemory]
    tables: PlannedTables | None = Field(description="Its embedding tables; null: the platform knows of none")
    proposal: PlannedChange | None = Field(description="null: as far as is known, all of it fits into memory as it is")
    warnings: list[JobWarning] = Field(description="Limits that the job file exceeds, with remedies; and processes that do not fit")
    notes: list[JobWarning]
