"""Changes to the labels of a job."""

from __future__ import annotations

from pydantic import Field

from backend.schemas import Schema
from gradstream.spec.values import MAX_NAME, NAME, Note, Tags


class JobEdit(Schema):
    """A field that is left out stays as it is."""

    name: str | None = Field(None, min_length=1, max_length=MAX_NAME, pattern=NAME)
    tags: Tags | None = Field(None, description="All of its tags, instead of those before")
    note: Note | None = Field(None, description="Remark in plain text; empty removes it")
    archived: bool | None = Field(None, description="True only for jobs that have ended")
