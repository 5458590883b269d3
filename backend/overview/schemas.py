"""A job at one glance: how it came to where it is, how fast, and how its processes stand."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from backend.jobs.history_schemas import CutRef
from backend.jobs.statuses import AttemptStatus
from backend.schemas import Schema


class Cost(Schema):
    """What the end of an attempt cost that another one followed."""

    seconds: float | None = Field(description="From its end until the next one ran; null: it does not run yet")
    pushes: int = Field(description="Pushes that were undone")
    samples: int | None = Field(description="Samples trained again; null: nobody can say")


class Life(Schema):
    """An attempt with its phases: it waits, starts, runs, ends."""

    number: int
    status: AttemptStatus
    reason: str | None
    message: str | None
    queued_at: datetime = Field(description="When the job came to wait for it")
    started_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    resumed_from: CutRef | None
    cut: int | None = Field(description="Its last committed cut")
    cost: Cost | None = Field(description="Null unless another attempt followed")


class Death(Schema):
    """A process that ended before its work was done."""

    process_id: UUID
    label: str
    attempt: int
    incarnation: int
    at: datetime
    reason: str | None
    message: str | None
    respawned: bool = Field(description="Its rank went on as another incarnation, and the others did not stop")
    seconds: float | None = Field(description="Until its next incarnation ran; null: none did")


class Best(Schema):
    """The best evaluation of one metric."""

    metric: str = Field(examples=["eval/accuracy"])
    higher_is_better: bool
    value: float
    attempt: int
    samples: int
    version: int
    at: datetime
    after: float | None = Field(description="Seconds since the job's `started_at`")


class Speed(Schema):
    """Against one worker that has the job for itself and neither sends nor waits."""

    samples_per_second: float = Field(description="Of the job in this attempt: samples over wall-clock time")
    one_alone: float | None = Field(
        description="Samples per second of one worker while it computes and fetches data; null: not measured"
    )
    factor: float | None = Field(description="The first over the second; null: the second is not measured")
    workers: int = Field(description="Workers of the job")
    message: str | None = Field(description="Why there is no factor, and how to measure it")


class WorkerLoad(Schema):
    """One worker of the live attempt. Times are sums over `pushes` pushes, `seconds` what those took in all."""

    rank: int
    label: str
    at: datetime | None = Field(description="When something was last heard of it")
    clock: int | None = Field(description="Pushes made so far, as the shards count them")
    behind: int | None = Field(description="Pushes behind the fastest worker")
    step: int = Field(description="Its mini-batches so far")
    samples_per_second: float | None
    pushes: int
    seconds: float
    compute: float
    data: float
    send: float
    wait: float
    before: float = Field(description="Seconds from when the workers could begin until its first push")
    ended: float = Field(description="Seconds for which it has ended while others trained")
    slower: float | None = Field(description="How many times slower than the others it is; null: it is not slow")
    sent_per_second: float | None = Field(description="Bytes of vectors sent, per second")
    received_per_second: float | None
    cpu: float | None = Field(description="Cores")
    memory: int | None = Field(description="Bytes")
    gpu: float | None = Field(description="Share of the time that its GPU worked")
    gpu_memory: int | None = Field(description="Bytes")


class ServerLoad(Schema):
    """One shard of the live attempt, or the evaluator."""

    label: str
    at: datetime | None
    step: int = Field(description="Entries of the log handled so far")
    busy: float | None = Field(description="Share of the time that it worked, lately")
    worked: float | None = Field(description="Share of the time that a shard worked, on average")
    apply: float | None = Field(description="Seconds to decode and apply an entry, the mean of all")
    queue: int | None = Field(description="Entries that wait")
    cpu: float | None = Field(description="Cores")
    memory: int | None = Field(description="Bytes")


class Account(Schema):
    """What became of the pushes: pushed = applied + buffered + dropped + pending + undone."""

    pushed: int
    applied: int
    buffered: int
    dropped: int
    dropped_stale: int = Field(description="Of `dropped`: staler than the gate allows")
    dropped_quorum: int = Field(description="Of `dropped`: after the quorum had closed the round")
    dropped_not_finite: int = Field(description="Of `dropped`: a NaN or an infinity in it")
    dropped_superseded: int = Field(description="Of `dropped`: from an incarnation that a newer one had replaced")
    pending: int
    undone: int


class Overview(Schema):
    attempt: int
    lives: list[Life]
    deaths: list[Death]
    best: list[Best]
    speed: Speed | None = Field(description="Null for one worker, and before two pushes of a worker")
    seconds: float = Field(description="From when the workers could begin until the last of them ended, or until now")
    workers: list[WorkerLoad]
    servers: list[ServerLoad]
    ledger: Account | None = Field(description="Of all workers, over all attempts; null before the first push")


class Config(Schema):
    """The job file as it was sent, and in two lengths as it was understood; each makes the same job. And the values it comes to."""

    source: str | None = Field(description="The text that was sent, comments and all; null: only its meaning was sent")
    overrides: list[str] = Field(description="What was set over the text", examples=[["strategy.lr=0.1"]])
    short: dict[str, Any] = Field(description="Only what differs from the defaults")
    full: dict[str, Any] = Field(description="As its processes get it: defaults filled in, `auto` resolved as far as it is known")
    effective: dict[str, Any] = Field(
        description="To compare jobs by: the values that the job runs with, each only where it applies. The defaults of the "
        "strategy, of its gate and of the workload's arguments are filled in. It is not a job file"
    )


class Choice(Schema):
    """Something that can be done to a process."""

    possible: bool
    message: str = Field(description="What follows from it, or why it cannot be done")
    new_attempt: bool = Field(False, description="All processes end with it, and the job goes back to its last cut")


class Choices(Schema):
    restart: Choice
    stop: Choice
