from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from backend.schemas import Schema

Kind = Literal["model", "job", "metrics", "cut"]


class Artifact(Schema):
    name: str = Field(examples=["model.safetensors"])
    size: int
    sha256: str
    kind: Kind
    created_at: datetime


class Artifacts(Schema):
    items: list[Artifact]


class StoredFile(Schema):
    path: str = Field(examples=["cuts/3/worker-0.pt"])
    size: int
    sha256: str
    committed_cut: int | None = Field(None, description="The cut that this file completed")
