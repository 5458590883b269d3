"""What the API answers. Members that a newer server adds are kept and printed, but have no attribute here."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from gradstream.bundle.origin import CodeOrigin
from gradstream.client import html
from gradstream.exchange import Exchange, ShardLoad
from gradstream.spec.start import StartedFrom

ENDED = frozenset({"succeeded", "failed", "cancelled", "timed_out"})
"""The statuses that a job never leaves."""


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    def as_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class Progress(Answer):
    samples: int = 0
    total_samples: int | None = None
    epoch_samples: int | None = None
    version: int = 0
    done: float | None = None
    seconds_left: float | None = None
    seconds_left_low: float | None = None
    seconds_left_high: float | None = None
    samples_per_second: float | None = None
    mean_samples_per_second: float | None = None
    loss: float | None = None
    not_finite: list[int] = Field(default_factory=list)
    """Workers whose last loss is a NaN or an infinity."""
    mean_staleness: float | None = None
    eval: dict[str, float | None] = Field(default_factory=dict)
    main_metric: str | None = None
    """The key in `eval` that the job is judged by."""
    alerts: list[str] = Field(default_factory=list)
    first_step_at: datetime | None = None
    exchange: Exchange | None = None
    shards: list[ShardLoad] = Field(default_factory=list)


class JobSummary(Answer):
    """A job as lists have it. `Client.job` reads the rest."""

    id: UUID
    name: str
    status: str
    reason: str | None
    message: str | None
    position: int | None
    seq: int
    strategy: str
    gate: str
    priority: int = 50
    workers: int = 0
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    attempt: int
    user: str
    progress: Progress

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def _repr_html_(self) -> str:
        """A table row in notebooks."""
        return html.show_jobs([self])


class Job(JobSummary):
    spec: dict[str, Any]
    bundle: str | None
    origin: CodeOrigin | None = None
    """The commit that the code was at; None: submitted without one."""
    started_from: StartedFrom | None = None
    """The model of another job that it starts from, as resolved at its submission; None: none."""
    shards: int = 1
    retries_used: int


class Config(Answer):
    source: str | None
    """The text as it was sent; None: only its meaning was."""
    overrides: list[str]
    """What was set over it, as `--set` has it."""
    short: dict[str, Any]
    full: dict[str, Any]
    effective: dict[str, Any]
    """The values that the job runs with, to compare jobs by: with the defaults of its strategy, gate and arguments."""


class Plan(Answer):
    """What would become of a job. Where the size of the model is not known, neither are traffic and memory."""

    start: dict[str, Any]
    shards: dict[str, Any]
    staleness: dict[str, Any]
    size: dict[str, Any] | None
    traffic: dict[str, Any] | None
    near: float | None
    memory: dict[str, int] | None
    nodes: list[dict[str, Any]]
    warnings: list[dict[str, str]]
    notes: list[dict[str, str]]


class WaitingJob(Answer):
    id: UUID
    name: str
    user: str
    priority: int
    position: int
    """Place in the order in which jobs start, from 1."""
    reason: str | None
    message: str | None
    created_at: datetime


class HoldingJob(Answer):
    id: UUID
    name: str
    user: str
    priority: int
    status: str
    slots: int
    gpus: int
    nodes: list[dict[str, Any]]


class Queue(Answer):
    waiting: list[WaitingJob]
    """The first 500."""
    waiting_total: int
    holding: list[HoldingJob]


class JobPage(Answer):
    items: list[JobSummary]
    next_cursor: str | None
    total: int | None = None
    """Jobs that fit, told with the first page."""

    def _repr_html_(self) -> str:
        return html.show_jobs(self.items)


class Event(Answer):
    seq: int
    time: datetime
    kind: str
    actor: str
    message: str
    data: dict[str, Any]


class Process(Answer):
    id: UUID
    attempt: int
    role: str
    rank: int
    incarnation: int
    node: str
    gpu: int | None
    status: str
    exit_code: int | None
    reason: str | None
    message: str | None
    started_at: datetime | None
    ended_at: datetime | None
    label: str


class Choice(Answer):
    """Something that can be done to a process."""

    possible: bool
    message: str
    """What follows from it, or why it cannot be done."""
    new_attempt: bool = False
    """All processes end with it."""


class Choices(Answer):
    restart: Choice
    stop: Choice


class LogChunk(Answer):
    """It may begin and end within a line."""

    seq: int
    process_id: UUID
    label: str
    offset: int
    time: datetime
    text: str


class Artifact(Answer):
    name: str
    size: int
    sha256: str
    kind: str
    note: str | None = None
    created_at: datetime


class Node(Answer):
    id: UUID
    name: str
    status: str
    slots: int
    slots_used: int
    gpus: list[dict[str, Any]]
    cpus: int
    memory: int
    version: str
    last_seen_at: datetime
    draining_since: datetime | None = None
    """Since when no process is placed there."""
    trouble: str | None = None
    """Why jobs are kept away from it for now."""
    retry_at: datetime | None = None
    processes: list[dict[str, Any]]


class ChartColumns(Answer):
    """Only those that hold points, list by list. None: no finite number."""

    x: list[float]
    """Of the first point in the column, in the order of arrival."""
    first: list[float | None]
    low: list[float | None]
    high: list[float | None]
    last: list[float | None]
    mean: list[float | None]
    count: list[int]
    odd: list[int]
    """Points whose value is not finite."""


class ChartSeries(Answer):
    attempt: int
    source: str
    rank: int
    total: int
    """Points in all, also outside the range."""
    columns: ChartColumns


class Chart(Answer):
    name: str
    x: str
    series: list[ChartSeries]


class MetricBatch(Answer):
    seq: int
    attempt: int
    source: str
    points: list[tuple[str, int, int, int, int, float, float | None]]
    """name, rank, step, samples, version, time, value (None: not finite)"""


class Reached(Answer):
    value: float
    time: float
    """Seconds since the epoch."""
    seconds: float
    """Since the first attempt was placed."""
    samples: int
    samples_before: int | None = None
    """Of the point before it: the target was reached somewhere behind these."""
    step: int
    version: int
    sent_bytes: float
    """By all workers until then."""
    attempt: int
    source: str
    rank: int


class JobTarget(Answer):
    job: UUID
    name: str
    strategy: str
    status: str
    reached: Reached | None
    """None: never, so far."""
    best: float | None
    """The value nearest to the target, or furthest beyond it."""


class Targets(Answer):
    items: list[JobTarget]
    """The quickest first, those that never reached it last."""
    missing: list[UUID]
    """Asked for, but deleted."""

    def _repr_html_(self) -> str:
        return html.show_targets(self.items)


class Token(Answer):
    id: UUID
    name: str
    kind: str
    """api: acts as its user; join: lets machines register."""
    scope: str | None
    """Of an API token. read: sees everything, changes nothing; full: does all that its user may do."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class CreatedToken(Token):
    token: str = Field(repr=False)
    """The secret; only its hash is kept."""


class BrowserSession(Answer):
    id: UUID
    browser: str
    """E.g. Firefox 133 on Linux."""
    token_id: UUID
    """The API token that it came from, and with which it ends."""
    token_name: str
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


class SignInLink(Answer):
    url: str
    """It works once."""
    expires_at: datetime


class StreamEvent(NamedTuple):
    id: int
    """Its place in the job's feed."""
    kind: str
    """job, event, process, metrics, log"""
    data: dict[str, Any]
