"""Nodes, tokens, sessions and storage."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import Field

from gradstream.api.base import ApiModel, Known
from gradstream.api.statuses import ProcessStatus
from gradstream.sandbox.sandbox import Level, Network

StoredKind = Literal["bundles", "checkpoints", "models and results", "uploads", "logs", "media", "metrics"]
UnneededKind = Literal["bundle", "upload", "deleted job", "stray file"]


class NodeStatus(StrEnum):
    READY = "ready"
    LOST = "lost"


class NodeGpu(ApiModel):
    index: int
    name: str = Field(examples=["NVIDIA H200"])
    memory: int = Field(description="Bytes")
    used: float = Field(description="Share of it that processes have, from 0 to 1")
    used_by: list[UUID] = Field(description="Processes that have a share of it")


class NodeIsolation(ApiModel):
    """Separation of a node's job processes from the platform and from each other."""

    level: Known[Level] = Field(
        description="namespace: a process sees its own part of the platform only; user: accounts of their own; none"
    )
    account: bool = Field(False, description="Each process has a user id of its own")
    note: str = Field("", description="Reason why a stronger level is not possible; empty: this is the strongest")
    network: Known[Network] = Field(
        Network.INTERNET, description="platform: they reach the data plane and the API only; internet: all"
    )


class NodeTorch(ApiModel):
    version: str = Field(examples=["2.13.0"])
    cuda: str | None = Field(None, description="Version of CUDA that it was built for; null: it cannot use GPUs")


class NodeProcess(ApiModel):
    id: UUID
    job_id: UUID
    job: str = Field(description="The job's name")
    label: str
    status: Known[ProcessStatus]
    slot: int | None
    gpus: list[int] = Field(description="GPU of each of its processes; empty: it computes on the CPU")
    gpu_share: int = Field(1, description="k, if it has 1/k of a GPU for each of its processes")
    started_at: datetime | None
    cpu: float | None = Field(None, description="Cores that it and its children take; null: not measured yet")
    memory: int | None = Field(None, description="Bytes that they take")
    gpu: float | None = Field(None, description="Share of the time that it worked on its GPUs, lately; null: unknown or without")
    gpu_memory: int | None = Field(None, description="Bytes that it has on its GPUs")


class Node(ApiModel):
    id: UUID
    name: str = Field(examples=["node-1"])
    status: Known[NodeStatus]
    slots: int = Field(description="Workers that it runs at the same time")
    slots_used: int
    gpus: list[NodeGpu]
    cpus: int
    memory: int = Field(description="Bytes")
    load: float | None = Field(description="Load average over the last minute; null until its agent reports it")
    memory_used: int | None = Field(description="Bytes")
    version: str
    isolation: NodeIsolation | None = Field(description="null: its agent does not report it")
    torch: NodeTorch | None = Field(None, description="Build of torch of its processes; null: its agent does not report it")
    registered_at: datetime = Field(description="Last start of its agent")
    joined_at: datetime | None = Field(description="Time at which it joined; null: it joined under an older version")
    joined_with: str | None = Field(description="Join token that it joined with", examples=["machines (3f2a9c1b) of ada"])
    last_seen_at: datetime
    draining_since: datetime | None = Field(description="Start of draining: nothing new is scheduled there; null: not draining")
    rotating_since: datetime | None = Field(
        None, description="Time at which a user asked for a new credential; null: its agent has no such task"
    )
    trouble: str | None = Field(description="Reason why the scheduler avoids it for now; null: it does not")
    trouble_since: datetime | None
    retry_at: datetime | None = Field(description="Time at which the scheduler tries it again with one process")
    processes: list[NodeProcess]


class TokenKind(StrEnum):
    API = "api"
    """Acts as its user."""
    JOIN = "join"
    """Lets a number of machines register as nodes, each once, and nothing else."""


class TokenScope(StrEnum):
    READ = "read"
    """Sees what its user sees, and changes nothing."""
    FULL = "full"
    """Does what its user may do."""


class Token(ApiModel):
    id: UUID
    name: str = Field(examples=["ci"])
    kind: Known[TokenKind] = TokenKind.API
    scope: Known[TokenScope] | None = Field(description="null: a join token, which has no scope")
    created_at: datetime
    expires_at: datetime | None = Field(None, description="null: never")
    last_used_at: datetime | None = Field(description="To the minute")
    uses: int | None = Field(None, description="Machines that may join with it; null: an API token")
    used: int = Field(0, description="Machines that have joined with it")


class CreatedToken(Token):
    token: str = Field(repr=False, description="Shown only once; the platform keeps its hash", examples=["gst_..."])


class BrowserSession(ApiModel):
    id: UUID
    browser: str = Field(description="Browser and system, from the User-Agent at sign-in", examples=["Firefox 133 on Linux"])
    token_id: UUID = Field(description="API token that opened it; the session ends with the token")
    token_name: str = Field(examples=["ci"])
    created_at: datetime
    last_used_at: datetime = Field(description="To the minute")
    expires_at: datetime
    current: bool = Field(description="The session of this request")


class SignInLink(ApiModel):
    code: str = Field(repr=False)
    url: str = Field(description="The page's address with the code behind `#`, which browsers send to no server; works once")
    expires_at: datetime


class Stored(ApiModel):
    kind: Known[StoredKind]
    count: int | None = Field(description="Bundles or files; null: rows of the database")
    bytes: int = Field(description="Stored bytes; for logs, media and metrics their tables with the indexes")


class StoredJob(ApiModel):
    id: UUID
    name: str
    bytes: int = Field(description="Its checkpoints, models and results")


class PlatformStorage(ApiModel):
    items: list[Stored]
    largest_jobs: list[StoredJob] = Field(description="Ten at most, the largest first")
    disk_bytes: int = Field(description="Size of the disk with the files")
    disk_free_bytes: int


class Collected(ApiModel):
    """`bundle`: no job names it. `upload`: it was never completed. `deleted job`: files of a job that is deleted. `stray file`: a
    file of an ended job that nothing names, or a part of a checkpoint that was never complete."""

    kind: Known[UnneededKind]
    count: int
    bytes: int
    names: list[str] = Field(description="Names of the first 20: hash, file name, id of the job, or id and path")


class Collection(ApiModel):
    dry_run: bool = Field(description="true: nothing was removed; the items are what would be")
    complete: bool = Field(description="false: the collection reached its time limit; collect again")
    items: list[Collected]
    bytes: int = Field(description="Bytes of all items together")
