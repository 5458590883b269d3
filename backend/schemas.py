"""Schemas that all features share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gradstream.api.base import LARGEST_PAGE


class Schema(BaseModel):
    """Base of everything that the API takes and gives. Unknown members of a request are mistakes."""

    model_config = ConfigDict(from_attributes=True, extra="forbid", ser_json_inf_nan="null")


class Message(Schema):
    """Base of messages from our own programs. One of a newer version may send more fields, which are ignored."""

    model_config = ConfigDict(extra="ignore")


class Fault(Schema):
    """One mistake in a request."""

    pointer: str = Field(description="JSON pointer into the request", examples=["/spec/strategy/window"])
    message: str = Field(examples=["Input should be greater than or equal to 1"])


class ProblemDetails(Schema):
    """RFC 9457. `type` names the error class; `context` holds details of it for programs."""

    type: str = Field(examples=["/problems/NotFound"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no job 8c1f...; it may have been deleted."])
    instance: str = Field(examples=["/api/v1/jobs/8c1f..."])
    errors: list[Fault] = Field(default_factory=list)
    context: dict[str, object] = Field(default_factory=dict)


class Health(Schema):
    status: Literal["ok"] = "ok"
    version: str = Field(examples=["0.1.0"])


Limit = Annotated[int, Field(ge=1, le=LARGEST_PAGE, description="Items per page")]
Cursor = Annotated[str | None, Field(description="`next_cursor` of the page before")]
BIGGEST = 2**53 - 1
"""A `seq` that is never reached, and that JavaScript still counts exactly."""
After = Annotated[int, Field(ge=0, le=BIGGEST, description="Only entries after this `seq`")]
