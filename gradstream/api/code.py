"""The code of jobs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gradstream.api.base import ApiModel

FileChange = Literal["added", "removed", "changed"]


class FileDifference(ApiModel):
    """A file that differs between two bundles of code."""

    path: str = Field(examples=["digits.py"])
    change: FileChange
    lines: list[str] | None = Field(
        description="A unified difference, without the names of the files; empty: only the ends of lines differ; null: it is "
        "binary, or too long to compare line by line"
    )
