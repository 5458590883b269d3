"""Files of the checkpoint that an attempt resumes from, as the API lists them for a process."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from gradstream.process.saving.checkpoint_names import folder_of
from gradstream.process.saving.part_list import EarlierFile


class ResumedFile(BaseModel, frozen=True):
    attempt: int
    path: str = Field(examples=["checkpoints/3/shard-0.safetensors"])
    sha256: str | None = None

    @classmethod
    def earlier(cls, file: EarlierFile) -> Self:
        return cls(attempt=file.attempt, path=folder_of(file.checkpoint) + file.name, sha256=file.sha256)


class ResumedFiles(BaseModel, frozen=True):
    files: list[ResumedFile] = Field(description="The state of the process first; empty: it has no part in the checkpoint")
