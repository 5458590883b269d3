from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.history import Artifact, JobExport

Kind = Literal["model", "job", "metrics", "checkpoint", "environment"]


class Artifacts(Schema):
    items: list[Artifact]


class NewExport(Schema):
    base: bool = Field(False, description="Export all rows; false: what changed since the last export, unless a base is due")


class ExportList(Schema):
    items: list[JobExport] = Field(description="The newest first")


class JobFile(Schema):
    """A file that a process of an attempt has stored."""

    attempt: int
    path: str = Field(examples=["checkpoints/3/worker-0.safetensors"])
    size: int
    sha256: str
    created_at: datetime


class RestedFile(Schema):
    """A file of an earlier checkpoint that a later one needs; it stays as long as that one."""

    attempt: int
    path: str = Field(examples=["checkpoints/1/shard-0.rows-0.safetensors"])


class JobCheckpoint(Schema):
    """A committed checkpoint: all of its files are there, and a new attempt can begin from it."""

    attempt: int
    number: int = Field(description="Counts up within an attempt; 0: its last one")
    last: bool = Field(description="Made when all workers had left")
    version: int | None
    samples: int | None
    first_needed: int | dict[str, int] | None = Field(
        description="Examples before this one, or before this offset of each partition, are not read by a job that resumes; null: "
        "it ends by itself"
    )
    rests_on: list[RestedFile] = Field(description="Files of earlier checkpoints that it needs")
    created_at: datetime


class JobFiles(Schema):
    checkpoints: list[JobCheckpoint] = Field(
        description="The newest first; `checkpoints/<number>/` in the paths of its attempt's files"
    )
    files: list[JobFile] = Field(description="By attempt and path; those of checkpoints that are not committed yet among them")


class StoredFile(Schema):
    path: str = Field(examples=["checkpoints/3/worker-0.safetensors"])
    size: int
    sha256: str
    committed_checkpoint: int | None = Field(None, description="The checkpoint that this file completed")
