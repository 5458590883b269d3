"""The queue: the jobs that wait, and the jobs that hold machines."""

from __future__ import annotations

from pydantic import Field

from backend.schemas import Schema


class ChangePriority(Schema):
    priority: int = Field(ge=0, le=100, description="Higher starts first")
