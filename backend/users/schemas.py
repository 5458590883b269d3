"""Who is signed in, and with what."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field, model_validator

from backend.schemas import Schema

LONGEST_TOKEN = 10 * 366 * 86400.0
"""Seconds: ten years."""


class TokenKind(StrEnum):
    API = "api"
    """Acts as its user."""
    JOIN = "join"
    """Lets machines register as nodes, and nothing else."""


class TokenScope(StrEnum):
    READ = "read"
    """Sees what its user sees, and changes nothing."""
    FULL = "full"
    """Does what its user may do."""


class User(Schema):
    id: UUID
    name: str = Field(examples=["ada"])


class Me(Schema):
    user: User
    expires_at: datetime | None = Field(None, description="End of the browser's session; null for an API token")
    scope: TokenScope = Field(TokenScope.FULL, description="Of the token that asks; a browser's session has full")


class SignIn(Schema):
    """Exactly one of the two."""

    code: str | None = Field(None, description="A one-time code, as in the links of `gradstream up` and `gradstream open`")
    token: str | None = Field(None, description="An API token")

    @model_validator(mode="after")
    def _one(self) -> SignIn:
        if (self.code is None) == (self.token is None):
            raise ValueError("give exactly one of 'code' and 'token'")
        return self


class CreateToken(Schema):
    name: str = Field(min_length=1, max_length=100, description="What it is for", examples=["ci"])
    kind: TokenKind = Field(TokenKind.API, description="api: acts as you; join: lets machines register, and nothing else")
    scope: TokenScope | None = Field(
        None, description="Of an API token. read: sees all that you see, changes nothing; full, null: does all that you may do"
    )
    expires_in: float | None = Field(
        None, gt=0, le=LONGEST_TOKEN, description="Seconds until it expires; null: api never, join after a day", examples=[86400]
    )

    @model_validator(mode="after")
    def _only_api_tokens_have_a_scope(self) -> CreateToken:
        if self.kind == TokenKind.JOIN and self.scope is not None:
            raise ValueError("a join token has no 'scope', as it only lets machines register; leave 'scope' out")
        return self


class Token(Schema):
    id: UUID
    name: str = Field(examples=["ci"])
    kind: TokenKind = TokenKind.API
    scope: TokenScope | None = Field(description="null for a join token: its kind says all that it may do")
    created_at: datetime
    expires_at: datetime | None = Field(None, description="null: it does not expire")
    last_used_at: datetime | None = Field(description="To the minute")


class CreatedToken(Token):
    token: str = Field(description="Shown this once; only its hash is kept", examples=["gst_..."])


class Tokens(Schema):
    items: list[Token]


class SignInCode(Schema):
    code: str
    url: str = Field(description="The page's address with the code behind `#`, which browsers send to no server")
    expires_at: datetime


class BrowserSession(Schema):
    id: UUID
    browser: str = Field(description="Made from the User-Agent that signed in", examples=["Firefox 133 on Linux"])
    token_id: UUID = Field(description="The API token that it came from, and with which it ends")
    token_name: str = Field(examples=["ci"])
    created_at: datetime
    last_used_at: datetime = Field(description="To the minute")
    expires_at: datetime
    current: bool = Field(description="It is the one that asks")


class BrowserSessions(Schema):
    items: list[BrowserSession]
