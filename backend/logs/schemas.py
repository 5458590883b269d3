from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import Field

from backend.schemas import BIGGEST, Message, Schema
from gradstream.process.order import Role


@dataclass(frozen=True, slots=True)
class Which:
    """Whose output; None: anybody's."""

    process: UUID | None = None
    role: Role | None = None
    rank: int | None = None


class LogChunk(Schema):
    """Some output of one process, as it came: it may begin and end within a line."""

    seq: int
    process_id: UUID
    label: str = Field(examples=["worker-0"])
    attempt: int
    offset: int = Field(description="Bytes of this process's output before this chunk")
    time: datetime
    text: str


class LogPage(Schema):
    items: list[LogChunk]
    next: int = Field(description="Give it as `after` to read on")
    earlier: int | None = Field(
        None, description="Of a page from the end: give it as `before` to read what came earlier; null: this is the beginning"
    )


class PostLog(Message):
    process_id: UUID
    offset: int = Field(ge=0, le=BIGGEST, description="Bytes of output before this text")
    text: str = Field(max_length=1_000_000)
    size: int | None = Field(None, ge=0, description="Bytes of output that the text stands for; default: its length in UTF-8")
    cut: int = Field(0, ge=0, le=BIGGEST, description="Bytes of output just before `offset` that the node has left out")


class LogPosition(Schema):
    next_offset: int = Field(description="Where to go on: everything before it is stored")
