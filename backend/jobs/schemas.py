"""Jobs as the API shows them: the job itself, its attempts, processes and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, ValidationError, field_validator

from backend.schemas import Fault, Schema
from gradstream import jobfile
from gradstream.advise.warnings import notes, warnings
from gradstream.errors import InvalidJob, Problem
from gradstream.exchange import Exchange, ShardLoad
from gradstream.process.order import Role
from gradstream.spec import JobSpec


class JobStatus(StrEnum):
    """queued -> starting -> running -> stopping -> one of the four ends, which are never left."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


ENDED = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED, JobStatus.TIMED_OUT})


class ProcessStatus(StrEnum):
    ASSIGNED = "assigned"
    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    LOST = "lost"


class AttemptStatus(StrEnum):
    """One life of the whole job. `preparing` until its gradient plane is there."""

    PREPARING = "preparing"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


class Progress(Schema):
    """How far training is, from the metrics."""

    samples: int = Field(0, description="Samples whose updates the center has seen")
    total_samples: int | None = Field(None, description="Samples the job will train if it is not stopped")
    epoch_samples: int | None = Field(None, description="Samples of one pass over the training data; null: not known")
    version: int = Field(0, description="Changes of the center so far")
    samples_per_second: float | None = Field(None, description="All workers that still train together, lately")
    mean_samples_per_second: float | None = Field(None, description="From the first push of this attempt to the last")
    loss: float | None = Field(None, description="Mean of the workers' last mini-batch losses")
    loss_curve: list[float] = Field(
        default_factory=list, description="The loss so far as at most 33 points: means of equally many mini-batches"
    )
    mean_staleness: float | None = Field(None, description="Mean over all pushes so far")
    eval: dict[str, float | None] = Field(
        default_factory=dict, description="Last evaluation", examples=[{"accuracy": 0.97, "loss": 0.11}]
    )
    alerts: list[str] = Field(
        default_factory=list, description="What is wrong with the training, and what to do about it, a sentence each"
    )
    first_step_at: datetime | None = Field(None, description="When the first update was applied")
    exchange: Exchange | None = Field(None, description="What a push costs; null before the first")
    shards: list[ShardLoad] = Field(default_factory=list, description="How the shards are loaded")


class JobWarning(Schema):
    """A limit that a valid job file is known to be over, which keeps no job from running; or a note on what a setting comes to."""

    pointer: str = Field(description="JSON pointer into the job file", examples=["/strategy/lr"])
    message: str = Field(description="What will go wrong, by which limit, and what to change; or the note")

    @classmethod
    def of(cls, spec: JobSpec) -> list[JobWarning]:
        return [cls(pointer=each.pointer, message=each.text) for each in warnings(spec)]

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


class Headway(Schema):
    """Of `Progress`, what lists show."""

    samples: int = 0
    total_samples: int | None = None
    samples_per_second: float | None = Field(None, description="`mean_samples_per_second` of `Progress`")
    loss: float | None = None
    loss_curve: list[float] = Field(
        default_factory=list, description="As `Progress` has it, rounded to a hundredth of its height or finer"
    )
    mean_staleness: float | None = None
    eval: dict[str, float | None] = Field(default_factory=dict)


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


class JobSort(StrEnum):
    """What a list of jobs may be sorted by. Jobs that have no such value yet come last, both ways."""

    CREATED = "created"
    NAME = "name"
    STATUS = "status"
    STRATEGY = "strategy"
    USER = "user"
    WORKERS = "workers"
    PRIORITY = "priority"
    ACCURACY = "accuracy"
    LOSS = "loss"
    THROUGHPUT = "throughput"
    STALENESS = "staleness"


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs, in which order. An empty list: any."""

    status: Sequence[JobStatus] = ()
    strategy: Sequence[str] = ()
    user: Sequence[str] = ()
    q: str | None = None
    sort: JobSort = JobSort.CREATED
    descending: bool = True


class JobPage(Schema):
    items: list[JobSummary]
    next_cursor: str | None
    total: int | None = Field(description="Jobs that fit, on all pages; null on pages after the first")
    read_at: datetime = Field(description="When the page was read, by the database's clock")


class Gone(Schema):
    """Deleted jobs, as the stream of all jobs tells of them."""

    ids: list[UUID]
    upto: int = Field(description="Who follows again later says this as `since`")


class JobCounts(Schema):
    """What there is to choose from."""

    status: dict[JobStatus, int]
    strategy: dict[str, int]
    user: dict[str, int]


class BulkAction(StrEnum):
    STOP = "stop"
    DELETE = "delete"


class Bulk(Schema):
    action: BulkAction
    ids: list[UUID] = Field(min_length=1, max_length=500)


class BulkItem(Schema):
    id: UUID
    done: bool
    message: str | None = Field(description="Why it was not done; null: it was")


class BulkAnswer(Schema):
    items: list[BulkItem] = Field(description="One for each id, in the order asked for")


class Waiting(Schema):
    """A job in the queue."""

    id: UUID
    name: str
    user: str
    priority: int
    position: int = Field(description="Place in the order in which jobs are served, from 1")
    reason: str | None = Field(description="Why it waits, for programs", examples=["no_capacity"])
    message: str | None = Field(description="The same as a sentence")
    workers: int
    device: str = Field(examples=["auto"])
    created_at: datetime
    attempt: int = Field(description="Attempts that it has had")


class Held(Schema):
    """What a job has on a node."""

    id: UUID
    name: str
    processes: int
    slots: int
    gpus: int


class Holder(Schema):
    """A job that has machines."""

    id: UUID
    name: str
    user: str
    priority: int
    status: JobStatus
    slots: int
    gpus: int
    since: datetime = Field(description="When the oldest of its processes was placed")
    nodes: list[Held]


class Queue(Schema):
    waiting: list[Waiting] = Field(description="The first 500, in the order in which they are served")
    waiting_total: int
    holding: list[Holder] = Field(description="Those with the most slots first, at most 500")


class ChangePriority(Schema):
    priority: int = Field(ge=0, le=100, description="Higher starts first")


class SubmitJob(Schema):
    spec: JobSpec
    bundle: str | None = Field(None, pattern=r"^[0-9a-f]{64}$", description="Hash that `uploadBundle` answered")
    source: str | None = Field(
        None, max_length=jobfile.MAX_TEXT, description="The job file as it was written; all users can read it, comments and all"
    )
    overrides: list[str] = Field(
        default_factory=list, max_length=200, description="What was set over `source`: with them it says what `spec` says",
        examples=[["strategy.lr=0.1"]],
    )  # fmt: skip

    @field_validator("spec", mode="wrap")
    @classmethod
    def _explained(cls, given: object, _read: object) -> JobSpec:
        """A job file's mistakes in the same words everywhere: not a ValueError, so it leaves pydantic as it is.

        Read afresh, and not by `_read`: FastAPI lets that take any object's attributes for keys, a text's among them."""
        try:
            return JobSpec.model_validate(given)
        except ValidationError as error:
            problems = [Problem(f"/spec{p.pointer}", p.message) for p in jobfile.problems_of(error, given)]
            raise InvalidJob(f"The job file has {len(problems)} mistake{'s' * (len(problems) > 1)}.", problems) from error


class ValidateJob(Schema):
    """One of the two: a spec, or the text of a job file."""

    spec: dict[str, Any] | None = None
    yaml: str | None = Field(None, max_length=1_000_000)


class Validated(Schema):
    valid: bool
    errors: list[Fault] = Field(description="Pointers are into the job file, e.g. `/strategy/window`")
    warnings: list[JobWarning] = Field(default_factory=list, description="Of a valid file: limits that it is over, with remedies")
    notes: list[JobWarning] = Field(default_factory=list, description="Of a valid file: what settings come to")
    spec: JobSpec | None = Field(description="With all defaults filled in; null if not valid")


class Event(Schema):
    seq: int
    time: datetime
    kind: str = Field(description="status, attempt, process, cut, target, warning, priority", examples=["status"])
    actor: str = Field(description="`user:<name>`, `controller`, `node:<name>` or a process's label", examples=["controller"])
    message: str = Field(examples=["running: all 5 processes run"])
    data: dict[str, Any]


class Events(Schema):
    items: list[Event]


class CutRef(Schema):
    attempt: int
    cut: int


class Attempt(Schema):
    number: int
    status: AttemptStatus
    reason: str | None
    message: str | None
    started_at: datetime
    ended_at: datetime | None
    resumed_from: CutRef | None
    cut: int | None = Field(description="Its last committed cut")


class Attempts(Schema):
    items: list[Attempt]


class Process(Schema):
    id: UUID
    seq: int
    attempt: int
    role: Role
    rank: int = Field(description="Worker or shard number from 0; -1: the evaluator")
    incarnation: int = Field(description="Respawns of this rank within the attempt")
    node: str
    gpu: int | None
    status: ProcessStatus
    exit_code: int | None
    reason: str | None
    message: str | None
    started_at: datetime | None
    ended_at: datetime | None
    label: str = Field(examples=["worker-0"])


class Processes(Schema):
    items: list[Process]


IdempotencyKey = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="The same key and body give the same job again, also after a lost answer"),
]
