from __future__ import annotations

from pydantic import Field

from backend.schemas import Schema


class BundledFile(Schema):
    path: str = Field(examples=["digits.py"])
    size: int


class Bundle(Schema):
    hash: str = Field(description="sha256 of the archive; names the bundle when a job is submitted")
    size: int
    files: list[BundledFile]
