"""Jobs: whole, as rows of a list, and in the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from gradstream.api import html
from gradstream.api.base import ApiModel, DescribedAs, Known
from gradstream.api.progress import Headway, Progress
from gradstream.api.statuses import ENDED, JobStatus
from gradstream.bundle.commit.origin import CodeOrigin
from gradstream.spec import JobSpec
from gradstream.spec.roles import SettledCollective
from gradstream.spec.start import StartedFrom


class JobWarning(ApiModel):
    """A limit that a valid job file is known to be over, which keeps no job from running; or a note on what a setting comes to."""

    pointer: str = Field(description="JSON pointer into the job file", examples=["/strategy/lr"])
    message: str = Field(description="The expected problem, the limit and the remedy; or the note")


class JobSummary(ApiModel):
    """A job as a row of a list: the part of `Job` that a list shows. The job itself has the job file and more of the progress."""

    id: UUID
    name: str = Field(examples=["digits-adag"])
    tags: list[str] = Field(examples=[["nightly"]])
    archived: bool = Field(description="Left out of lists that do not ask for archived jobs")
    status: Known[JobStatus]
    reason: str | None = Field(description="Reason of the wait or the end, for programs", examples=["no_capacity"])
    message: str | None = Field(description="The same as a sentence", examples=["Waits for 2 free slots; 1 of 4 is free."])
    position: int | None = Field(description="Place in the queue, from 1; null unless queued")
    seq: int = Field(description="Counts up with each change of the job; for `since` of the long poll")
    strategy: str = Field(examples=["adag"])
    gate: str = Field(examples=["asp"])
    priority: int
    workers: int
    created_at: datetime
    started_at: datetime | None = Field(description="Start of its first attempt")
    ended_at: datetime | None
    attempt: int = Field(description="Number of the latest attempt; 0 before the first")
    user: str = Field(examples=["ada"])
    progress: Headway

    @property
    def ended(self) -> bool:
        """The job is over, perhaps in a status that only a newer platform knows."""
        return self.status in ENDED or self.ended_at is not None

    def _repr_html_(self) -> str:
        """A table row in notebooks."""
        return html.show_jobs([self])


class Job(JobSummary):
    note: str = Field(description="Remark of its user, in plain text")
    spec: Annotated[dict[str, Any], DescribedAs(JobSpec)]
    warnings: list[JobWarning] = Field(default_factory=list, description="Limits that the job file exceeds, with remedies")
    notes: list[JobWarning] = Field(default_factory=list, description="Derived values of settings in this job")
    bundle: str | None = Field(description="Hash of the bundle of user code")
    origin: CodeOrigin | None = Field(None, description="Git commit of the code at submission; null: not known")
    started_from: StartedFrom | None = Field(
        None, description="The model of another job that it starts from, as resolved at submission; null: none"
    )
    shards: int = Field(description="Shards of the center; of `roles.server.count: auto` 1 until the model's size is known")
    collective: SettledCollective | None = Field(
        None, description="How workers without servers combine pushes; null: the job has servers, or has no places yet"
    )
    retries_used: int
    progress: Progress


class JobPage(ApiModel):
    items: list[JobSummary]
    next_cursor: str | None
    total: int | None = Field(description="Jobs that fit, on all pages; null on pages after the first")
    read_at: datetime = Field(description="Time of the query, by the database's clock")
    values: dict[UUID, dict[str, str | float | int | bool]] = Field(
        default_factory=dict, description="By id of the job: the values of the fields that `column` asked for; it has no others"
    )

    def _repr_html_(self) -> str:
        return html.show_jobs(self.items)


class Config(ApiModel):
    """The job file as it was sent, and in two lengths as it was understood; each makes the same job. And the values it comes to."""

    source: str | None = Field(description="The submitted text with its comments; null: the client sent only values")
    overrides: list[str] = Field(description="Values that override the text", examples=[["strategy.lr=0.1"]])
    short: dict[str, Any] = Field(description="Only values that differ from the defaults")
    full: dict[str, Any] = Field(
        description="All values, as its processes receive them: with defaults, and `auto` resolved as far as known"
    )
    effective: dict[str, Any] = Field(
        description="Values for comparisons: each only where it applies, with the defaults of the strategy, its gate and the "
        "workload. Not a job file"
    )


class WaitingJob(ApiModel):
    """A job in the queue."""

    id: UUID
    name: str
    user: str
    priority: int
    position: int = Field(description="Place in the order in which jobs are served, from 1")
    reason: str | None = Field(description="Reason of the wait, for programs", examples=["no_capacity"])
    message: str | None = Field(description="The same as a sentence")
    workers: int
    device: str = Field(examples=["auto"])
    created_at: datetime
    attempt: int = Field(description="Attempts so far")


class NodeShare(ApiModel):
    """The share of a job on a node."""

    id: UUID
    name: str
    processes: int
    slots: int
    gpus: float = Field(description="GPUs, with the shares of others added up")


class HoldingJob(ApiModel):
    """A job that has machines."""

    id: UUID
    name: str
    user: str
    priority: int
    status: Known[JobStatus]
    slots: int
    gpus: float = Field(description="GPUs, with the shares of others added up")
    since: datetime = Field(description="Start of its oldest process")
    nodes: list[NodeShare]


class Queue(ApiModel):
    waiting: list[WaitingJob] = Field(description="The first 500, in the order in which they are served")
    waiting_total: int
    holding: list[HoldingJob] = Field(description="Those with the most slots first, at most 500")
