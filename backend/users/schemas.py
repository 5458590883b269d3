"""Who is signed in, and with what."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field, model_validator

from backend.schemas import Schema


class User(Schema):
    id: UUID
    name: str = Field(examples=["ada"])


class Me(Schema):
    user: User
    expires_at: datetime | None = Field(None, description="End of the browser's session; null for an API token")


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


class Token(Schema):
    id: UUID
    name: str = Field(examples=["ci"])
    created_at: datetime
    last_used_at: datetime | None = Field(description="To the minute")


class CreatedToken(Token):
    token: str = Field(description="Shown this once; only its hash is kept", examples=["gst_..."])


class Tokens(Schema):
    items: list[Token]


class SignInCode(Schema):
    code: str
    url: str = Field(description="The page's address with the code behind `#`, which browsers send to no server")
    expires_at: datetime
