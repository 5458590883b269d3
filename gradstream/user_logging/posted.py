"""Logged media as a process sends them to the API."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer

from gradstream.bounds import MAX_COUNT
from gradstream.user_logging.items import MAX_BATCH, LoggedItem, MediaKind


def _decoded(given: Any) -> Any:
    return base64.b64decode(given, validate=True) if isinstance(given, str) else given


Base64 = Annotated[bytes, BeforeValidator(_decoded), PlainSerializer(lambda content: base64.b64encode(content).decode())]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class PostedItem(BaseModel):
    name: str = Field(max_length=100)
    kind: MediaKind
    step: Count
    samples: Count
    version: Count
    time: Annotated[float, Field(ge=0, le=1e11)]
    content: Base64 = Field(description="In base64")


class PostedMedia(BaseModel):
    items: list[PostedItem] = Field(max_length=MAX_BATCH)

    @staticmethod
    def of(items: Iterable[LoggedItem]) -> PostedMedia:
        return PostedMedia(items=[PostedItem.model_validate(item, from_attributes=True) for item in items])


class MediaOutcome(BaseModel):
    """The outcome of a batch."""

    dropped: int = Field(0, description="Items that the job has no more space for")
    why: str | None = Field(None, description="The limit that dropped them")
