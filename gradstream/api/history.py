"""The history of a job: its events, processes, output and files."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from pydantic import Field

from gradstream.api.base import ApiModel, Known
from gradstream.api.statuses import ProcessStatus
from gradstream.events import KINDS_EXPLAINED, EventKind
from gradstream.process.order import Role

ArtifactKind = Literal["model", "job", "metrics", "checkpoint", "environment"]

ExportState = Literal["asked", "committed", "failed", "abandoned"]


class Event(ApiModel):
    seq: int
    time: datetime
    kind: Known[EventKind] = Field(description=KINDS_EXPLAINED, examples=["status"])
    actor: str = Field(description="`user:<name>`, `controller`, `node:<name>` or a process's label", examples=["controller"])
    message: str = Field(examples=["running: all 5 processes run"])
    data: dict[str, Any]


class StreamEvent(NamedTuple):
    id: int
    """Its place in the job's feed."""
    kind: str
    """job, event, process, metrics, log"""
    data: dict[str, Any]


class Process(ApiModel):
    id: UUID
    seq: int
    attempt: int
    role: Known[Role]
    rank: int = Field(description="Worker or shard number from 0; -1: the evaluator")
    incarnation: int = Field(description="Respawns of this rank within the attempt")
    node: str
    gpus: list[int] = Field(description="GPU of each of its processes on its node; empty: it computes on the CPU")
    gpu_share: int = Field(1, description="k, if it has 1/k of a GPU for each of its processes")
    status: Known[ProcessStatus]
    exit_code: int | None
    reason: str | None
    message: str | None
    started_at: datetime | None
    ended_at: datetime | None
    label: str = Field(examples=["worker-0"])


class Choice(ApiModel):
    """An action on a process."""

    possible: bool
    message: str = Field(description="The consequence, or the reason why it is not possible")
    new_attempt: bool = Field(False, description="It ends all processes; the job resumes from its last checkpoint")


class Choices(ApiModel):
    restart: Choice
    stop: Choice


class LogChunk(ApiModel):
    """Some output of one process, as it came: it may begin and end within a line."""

    seq: int
    process_id: UUID
    label: str = Field(examples=["worker-0"])
    attempt: int
    offset: int = Field(description="Bytes of this process's output before this chunk")
    time: datetime
    text: str


class Artifact(ApiModel):
    name: str = Field(examples=["model.safetensors"])
    size: int
    sha256: str
    kind: Known[ArtifactKind]
    note: str | None = Field(
        None,
        description="The evaluation of the best model; null: for any other file",
        examples=["eval/loss 0.31 at 20,000 samples"],
    )
    created_at: datetime


class JobExport(ApiModel):
    """An export of a job's model and embedding tables for serving. Version and counts are null until it is committed."""

    number: int = Field(description="Counts the exports of the job")
    state: Known[ExportState] = Field(
        description="asked: the servers make it · committed: it is whole · failed: a server could not store its part · abandoned: "
        "its attempt ended, or a later one came first"
    )
    after: int | None = Field(description="The export that it rests on; null: none, or it is not committed")
    base: bool | None = Field(description="It has all rows; false: a delta, with changes since the export that it rests on")
    attempt: int
    version: int | None
    samples: int | None
    passes: int | None = Field(description="Passes over the data that it was made after; null: none, or the job counts none")
    rows: int | None
    gone: int | None = Field(description="Tombstones: rows that were evicted since the export that it rests on")
    size: int | None = Field(description="Bytes of its files")
    asked_at: datetime
    committed_at: datetime | None
    next_at: datetime | None = Field(description="When the next export is asked for, because this one failed; null: none is due so")
