"""A job at one glance: its attempts and process failures, its speed, and the state of its processes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from backend.jobs.history_schemas import CheckpointRef
from backend.schemas import Schema
from gradstream.api.progress import PeerLoad
from gradstream.api.statuses import AttemptStatus


class Cost(Schema):
    """The cost of the end of an attempt that another one followed."""

    seconds: float | None = Field(description="Seconds from its end until the next attempt ran; null: that does not run yet")
    pushes: int = Field(description="Pushes that were rolled back")
    samples: int | None = Field(description="Samples trained again; null: not known")


class AttemptOverview(Schema):
    """An attempt with its phases: it waits, starts, runs, ends."""

    number: int
    status: AttemptStatus
    reason: str | None
    message: str | None
    queued_at: datetime = Field(description="Time at which the job entered the queue for it")
    started_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    resumed_from: CheckpointRef | None
    checkpoint: int | None = Field(description="Its last committed checkpoint")
    cost: Cost | None = Field(description="null: no attempt followed")


class ProcessFailure(Schema):
    """A process that ended before its work was done."""

    process_id: UUID
    label: str
    attempt: int
    incarnation: int
    at: datetime
    reason: str | None
    message: str | None
    respawned: bool = Field(description="A new incarnation of its rank took over; the other processes kept running")
    seconds: float | None = Field(description="Seconds until its next incarnation ran; null: none did")


class BestMetric(Schema):
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
    """The job's speed against one worker that has the job for itself and neither sends nor waits."""

    samples_per_second: float = Field(description="Samples of this attempt over its wall-clock time")
    one_alone: float | None = Field(
        description="Samples per second of one worker while it computes and fetches data; null: not measured"
    )
    factor: float | None = Field(description="`samples_per_second` / `one_alone`; null: `one_alone` is not measured")
    workers: int = Field(description="Workers of the job")
    message: str | None = Field(description="Reason for a missing factor, and the way to measure it")


class WorkerLoad(Schema):
    """One worker of the live attempt. Times are sums over `pushes` pushes, `seconds` what those took in all."""

    rank: int
    label: str
    at: datetime | None = Field(description="Time of its last report")
    clock: int | None = Field(description="Pushes so far, as the servers count them")
    behind: int | None = Field(description="Pushes behind the fastest worker")
    step: int = Field(description="Mini-batches so far")
    samples_per_second: float | None
    pushes: int
    seconds: float
    compute: float
    data: float
    send: float
    wait: float
    before: float = Field(description="Seconds from the start of training until its first push")
    ended: float = Field(description="Seconds between its end and now, or the end of the last worker")
    recovering: float = Field(description="Seconds from the end of a process of it until the next one ran")
    slower: float | None = Field(description="Factor by which it is slower than the others; null: it is not slow")
    sent_per_second: float | None = Field(description="Bytes of vectors sent, per second")
    received_per_second: float | None
    cpu: float | None = Field(description="Cores")
    memory: int | None = Field(description="Bytes")
    gpu: float | None = Field(description="Share of the time that it worked on its GPUs")
    gpu_memory: int | None = Field(description="Bytes")
    peers: list[PeerLoad] = Field(description="The processes of a worker that is a group, by number; empty: it is one process")


class ServerLoad(Schema):
    """One shard of the live attempt, or the evaluator."""

    label: str
    at: datetime | None
    step: int = Field(description="Entries of the log handled so far")
    busy: float | None = Field(description="Share of recent time that it worked")
    worked: float | None = Field(description="Share of the time that a server worked, on average")
    apply: float | None = Field(description="Mean seconds to decode and apply an entry")
    queue: int | None = Field(description="Entries in its queue")
    cpu: float | None = Field(description="Cores")
    memory: int | None = Field(description="Bytes")


class PushOutcomes(Schema):
    """The outcome of the pushes: pushed = applied + deferred + dropped + pending + rolled_back."""

    pushed: int
    applied: int
    deferred: int
    dropped: int
    dropped_stale: int = Field(description="Dropped pushes that were staler than the gate allows")
    dropped_quorum: int = Field(description="Dropped pushes that came after the quorum had closed the round")
    dropped_not_finite: int = Field(description="Dropped pushes that held a NaN or an infinity")
    dropped_superseded: int = Field(description="Dropped pushes of a superseded incarnation")
    pending: int
    rolled_back: int


class Overview(Schema):
    attempt: int
    attempts: list[AttemptOverview]
    failures: list[ProcessFailure]
    best: list[BestMetric]
    speed: Speed | None = Field(description="null: one worker, or none with two pushes yet")
    seconds: float = Field(description="Seconds from the start of training until the last worker ended, or until now")
    workers: list[WorkerLoad]
    servers: list[ServerLoad]
    ledger: PushOutcomes | None = Field(description="Pushes of all workers over all attempts, by outcome; null before the first")
