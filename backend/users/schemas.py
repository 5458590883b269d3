"""Users, their tokens and their sessions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field, model_validator

from backend.schemas import Schema
from gradstream.api.platform import BrowserSession, Token, TokenKind, TokenScope

LONGEST_TOKEN = 10 * 366 * 86400.0
"""Seconds: ten years."""
MAX_USES = 1000
"""Uses of a join token."""


class User(Schema):
    id: UUID
    name: str = Field(examples=["ada"])


class Me(Schema):
    user: User
    expires_at: datetime | None = Field(None, description="End of the browser's session; null for an API token")
    scope: TokenScope = Field(TokenScope.FULL, description="Scope of the request's token; a browser's session has full")


class SignIn(Schema):
    """A sign-in, with exactly one of the two."""

    code: str | None = Field(None, description="A one-time code, as in the links of `gradstream up` and `gradstream open`")
    token: str | None = Field(None, description="An API token")

    @model_validator(mode="after")
    def _one(self) -> SignIn:
        if (self.code is None) == (self.token is None):
            raise ValueError("give exactly one of 'code' and 'token'")
        return self


class CreateToken(Schema):
    name: str = Field(min_length=1, max_length=100, description="Purpose of the token", examples=["ci"])
    kind: TokenKind = Field(TokenKind.API, description="api: acts as you; join: lets machines register, and nothing else")
    scope: TokenScope | None = Field(
        None,
        description="Scope of an API token. read: it sees all that you see and changes nothing; full, null: it may do all that "
        "you may",
    )
    expires_in: float | None = Field(
        None, gt=0, le=LONGEST_TOKEN, description="Seconds until it expires; null: api never, join after an hour", examples=[86400]
    )
    uses: int | None = Field(
        None, ge=1, le=MAX_USES, description="Machines that may join with a join token; null: one", examples=[4]
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> CreateToken:
        if self.kind == TokenKind.JOIN and self.scope is not None:
            raise ValueError("a join token has no 'scope', as it only lets machines register; leave 'scope' out")
        if self.kind == TokenKind.API and self.uses is not None:
            raise ValueError("an API token has no 'uses', as only machines use a token up; leave 'uses' out")
        return self


class Tokens(Schema):
    items: list[Token]


class BrowserSessions(Schema):
    items: list[BrowserSession]
