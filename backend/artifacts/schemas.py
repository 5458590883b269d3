from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from backend.schemas import Schema

Kind = Literal["model", "job", "metrics", "cut", "environment"]


class Artifact(Schema):
    name: str = Field(examples=["model.safetensors"])
    size: int
    sha256: str
    kind: Kind
    note: str | None = Field(None, description="Of the best model: its evaluation", examples=["eval/loss 0.31 at 20,000 samples"])
    created_at: datetime


class Artifacts(Schema):
    items: list[Artifact]


class JobFile(Schema):
    """A file that a process of an attempt has stored."""

    attempt: int
    path: str = Field(examples=["cuts/3/worker-0.pt"])
    size: int
    sha256: str
    created_at: datetime


class Cut(Schema):
    """A committed cut: all of its files are there, and a new attempt can begin from it."""

    attempt: int
    number: int = Field(description="Counts up within an attempt; 0: its last one")
    last: bool = Field(description="Made when all workers had left")
    version: int | None
    samples: int | None
    created_at: datetime


class JobFiles(Schema):
    cuts: list[Cut] = Field(description="The newest first; `cuts/<number>/` in the paths of its attempt's files")
    files: list[JobFile] = Field(description="By attempt and path; those of cuts that are not committed yet among them")


class StoredFile(Schema):
    path: str = Field(examples=["cuts/3/worker-0.pt"])
    size: int
    sha256: str
    committed_cut: int | None = Field(None, description="The cut that this file completed")
