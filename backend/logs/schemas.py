from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field

from backend.schemas import BIGGEST, Message, Schema
from gradstream.api.history import LogChunk
from gradstream.process.order import Role


@dataclass(frozen=True, slots=True)
class Which:
    """The processes whose output is meant; None: any."""

    process: UUID | None = None
    role: Role | None = None
    rank: int | None = None


class LogPage(Schema):
    items: list[LogChunk]
    next: int = Field(description="Give it as `after` to read on")
    earlier: int | None = Field(
        None, description="With `tail`: give it as `before` to read earlier output; null: this is the beginning"
    )


class PostLog(Message):
    process_id: UUID
    offset: int = Field(ge=0, le=BIGGEST, description="Bytes of output before this text")
    text: str = Field(max_length=1_000_000)
    size: int | None = Field(None, ge=0, description="Bytes of output that the text stands for; default: its length in UTF-8")
    omitted: int = Field(0, ge=0, le=BIGGEST, description="Bytes of output just before `offset` that the node has left out")


class LogPosition(Schema):
    next_offset: int = Field(description="Offset to continue at; everything before it is stored")
