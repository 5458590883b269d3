"""The code of jobs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gradstream.api.base import ApiModel

FileChange = Literal["added", "removed", "changed"]


class UncommittedChange(ApiModel):
    """A file of a job's code that differs from the commit that it was submitted from."""

    path: str = Field(max_length=1000, examples=["digits.py"])
    change: FileChange
    lines: list[str] | None = Field(
        max_length=20_000,
        description="A unified difference, without the names of the files; null: the file was added or removed, is binary, or too "
        "long to compare line by line",
    )


class FileDifference(ApiModel):
    """A file that differs between two bundles of code."""

    path: str = Field(examples=["digits.py"])
    change: FileChange
    lines: list[str] | None = Field(
        description="A unified difference, without the names of the files; empty: only the ends of lines differ; null: it is "
        "binary, or too long to compare line by line"
    )
