"""A job as the API shows it, whole and as a row of a list."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from backend.jobs.statuses import JobStatus
from backend.schemas import Schema
from gradstream.advise.warnings import notes, warnings
from gradstream.bundle.origin import CodeOrigin
from gradstream.exchange import Exchange, ShardLoad
from gradstream.spec import JobSpec
from gradstream.spec.start import StartedFrom
from gradstream.workload_source import CodeFindings


class Progress(Schema):
    """How far training is, from the metrics."""

    samples: int = Field(0, description="Samples whose updates the center has seen")
    total_samples: int | None = Field(None, description="Samples the job will train if it is not stopped")
    epoch_samples: int | None = Field(None, description="Samples of one pass over the training data; null: not known")
    version: int = Field(0, description="Changes of the center so far")
    done: float | None = Field(None, description="Mini-batches trained in this attempt, of all, 0 to 1; null: not known")
    seconds_left: float | None = Field(
        None, description="Until the slowest worker has trained its share, at its recent speed; null: not known"
    )
    seconds_left_low: float | None = Field(
        None,
        description="The same if each worker goes on as in its fast windows: at the 90th percentile of its speeds over its last "
        "12 windows of 10 s; null: no worker has 3 windows yet",
    )
    seconds_left_high: float | None = Field(
        None, description="The same at the 10th percentile, as in its slow windows; never below `seconds_left`"
    )
    samples_per_second: float | None = Field(None, description="Samples over wall-clock time, in the last 10 s or more")
    mean_samples_per_second: float | None = Field(
        None, description="The same from when the workers of this attempt could begin until the center changed last"
    )
    loss: float | None = Field(None, description="Mean of the workers' last mini-batch losses; null if one is not finite")
    not_finite: list[int] = Field(default_factory=list, description="Workers whose last loss is a NaN or an infinity")
    loss_curve: list[float] = Field(
        default_factory=list, description="The loss so far as at most 33 points: means of equally many mini-batches"
    )
    mean_staleness: float | None = Field(None, description="Mean over all pushes so far")
    eval: dict[str, float | None] = Field(
        default_factory=dict, description="Last evaluation", examples=[{"accuracy": 0.97, "loss": 0.11}]
    )
    main_metric: str | None = Field(
        None,
        description="The key in `eval` that the job is judged by: target, accuracy or another",
        examples=["accuracy"],
    )
    alerts: list[str] = Field(
        default_factory=list, description="What is wrong with the training, and what to do about it, a sentence each"
    )
    first_step_at: datetime | None = Field(None, description="When the first update was applied")
    exchange: Exchange | None = Field(None, description="What a push costs; null before the first")
    shards: list[ShardLoad] = Field(default_factory=list, description="How the shards are loaded")


class Headway(Schema):
    """Of `Progress`, what lists show."""

    samples: int = 0
    total_samples: int | None = None
    done: float | None = None
    samples_per_second: float | None = Field(None, description="`mean_samples_per_second` of `Progress`")
    loss: float | None = None
    not_finite: list[int] = Field(default_factory=list)
    loss_curve: list[float] = Field(
        default_factory=list, description="As `Progress` has it, rounded to a hundredth of its height or finer"
    )
    mean_staleness: float | None = None
    eval: dict[str, float | None] = Field(default_factory=dict)
    main_metric: str | None = None


class JobWarning(Schema):
    """A limit that a valid job file is known to be over, which keeps no job from running; or a note on what a setting comes to."""

    pointer: str = Field(description="JSON pointer into the job file", examples=["/strategy/lr"])
    message: str = Field(description="What will go wrong, by which limit, and what to change; or the note")

    @classmethod
    def of(cls, spec: JobSpec) -> list[JobWarning]:
        return [cls(pointer=each.pointer, message=each.text) for each in warnings(spec)]

    @classmethod
    def of_code(cls, found: CodeFindings) -> list[JobWarning]:
        return [cls(pointer=each.pointer, message=each.message) for each in found.warnings]

    @classmethod
    def notes_on(cls, spec: JobSpec) -> list[JobWarning]:
        return [cls(pointer=each.pointer, message=each.text) for each in notes(spec)]


class Job(Schema):
    id: UUID
    name: str = Field(examples=["digits-adag"])
    status: JobStatus
    reason: str | None = Field(description="Why it waits or how it ended, for programs", examples=["no_capacity"])
    message: str | None = Field(description="The same as a sentence", examples=["Waits for 2 free slots; 1 of 4 is free."])
    position: int | None = Field(description="Place in the queue, from 1; null unless queued")
    seq: int = Field(description="Counts up with each change of the job; for `since` of the long poll")
    spec: JobSpec
    warnings: list[JobWarning] = Field(default_factory=list, description="Limits that the job file is over, with remedies")
    notes: list[JobWarning] = Field(default_factory=list, description="What settings come to in this job")
    bundle: str | None = Field(description="Hash of the bundle of user code")
    origin: CodeOrigin | None = Field(None, description="The commit that the code was at when it was submitted; null: not known")
    started_from: StartedFrom | None = Field(
        None, description="The model of another job that it starts from, as resolved at submission; null: none"
    )
    strategy: str = Field(examples=["adag"])
    gate: str = Field(examples=["asp"])
    shards: int = Field(description="Shards of the center; of `roles.server.count: auto` 1 until the model's size is known")
    priority: int
    workers: int
    created_at: datetime
    started_at: datetime | None = Field(description="When its first attempt was placed")
    ended_at: datetime | None
    attempt: int = Field(description="Number of the latest attempt; 0 before the first")
    retries_used: int
    user: str = Field(examples=["ada"])
    progress: Progress


class JobSummary(Schema):
    """A job as a row of a list: of `Job` what a list shows. Whoever wants the job file or more of the progress reads the job."""

    id: UUID
    name: str = Field(examples=["digits-adag"])
    status: JobStatus
    reason: str | None = Field(examples=["no_capacity"])
    message: str | None
    position: int | None
    seq: int
    strategy: str = Field(examples=["adag"])
    gate: str = Field(examples=["asp"])
    priority: int
    workers: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    attempt: int
    user: str = Field(examples=["ada"])
    progress: Headway
