"""Stragglers of a job: which workers are slow, since when, why, what they cost, and what would help."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from gradstream.api.base import ApiModel, Known

Cause = Literal["compute", "data", "send", "wait", "peer_wait", "other", "several", "unknown"]
PartName = Literal["compute", "data", "send", "wait", "peer_wait", "other"]


class StepPart(ApiModel):
    """A part of the time of a mini-batch, of a slow worker and of the others."""

    name: Known[PartName] = Field(
        description="compute: gradients and local steps; data: waiting for mini-batches; send: encoding and sending a push; "
        "wait: for responses and at the gate; peer_wait: for the other processes of its group; other: not measured"
    )
    seconds: float = Field(description="Mean seconds of the worker")
    others: float = Field(description="Median of the other workers' means")


class SlowWorker(ApiModel):
    """A time in which a worker's mini-batches took at least twice as long as the median of the others'."""

    rank: int
    label: str = Field(examples=["worker-5"])
    factor: float = Field(description="Factor by which it is slower than the others in this time")
    since: datetime
    from_start: bool = Field(description="It was slow from its first mini-batches on")
    until: datetime | None = Field(description="null: it is slow now, or was when it ended")
    cause: Known[Cause] = Field(description="The part that makes most of the difference; several: none does; unknown: not measured")
    parts: list[StepPart]
    why: str = Field(examples=["Computing takes 0.35 s of a mini-batch, 0.05 s of the others'."])
    node: str | None


class StragglerRemedy(ApiModel):
    """A change that would make the job end earlier. The job accepts this setting."""

    setting: str | None = Field(
        description="Keys of the job file for the next run; null: another change", examples=["data.deal: demand"]
    )
    command: str | None = Field(description="The command that does it now; null: there is none")
    message: str
    seconds: float | None = Field(
        description="Predicted seconds of the whole training with it; null: not predicted, or the job has no end"
    )
    examples_per_hour: float | None = Field(
        description="Predicted examples per hour that the model learns from with it, in a job that has no end; null: not predicted"
    )
    gain: str | None = Field(
        description="The prediction in words; null: there is none", examples=["Predicted: about 2.3 min in all instead of 15 min."]
    )


class Stragglers(ApiModel):
    """Stragglers of the live attempt. All predictions use the recorded times of its workers."""

    attempt: int
    message: str = Field(description="The result in one sentence", examples=["All 4 workers are about equally fast."])
    items: list[SlowWorker] = Field(description="Slow workers of now first, then by rank and time")
    seconds: float | None = Field(
        description="Seconds of the whole training as it is: measured if it has ended; null: not known, or without an end"
    )
    lost_so_far: float | None = Field(description="Seconds that stragglers have cost so far; null: not known")
    lost_at_end: float | None = Field(
        description="Predicted seconds that they cost at the end of the training; null: not predicted"
    )
    ideal: float | None = Field(
        description="Predicted seconds of the training if the speeds of all workers added up; null: not predicted"
    )
    examples_per_hour: float | None = Field(
        description="Examples per hour that the model learns from as it is, in a job without an end; null: not predicted"
    )
    even_per_hour: float | None = Field(description="The same if all workers were equally fast; null: not predicted")
    cost: str | None = Field(description="The cost in words; null: there is no straggler")
    remedies: list[StragglerRemedy] = Field(description="The largest predicted gain first")
