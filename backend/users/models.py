from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class UserRow(Base):
    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ApiTokenRow(Base):
    __tablename__ = "api_tokens"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    hash: Mapped[bytes] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_used_at: Mapped[datetime | None]
    kind: Mapped[str] = mapped_column(server_default="api")
    """`schemas.TokenKind`"""
    scope: Mapped[str | None]
    """`schemas.TokenScope`; None for a join token. No default: an API token that was stored without one may only read."""
    expires_at: Mapped[datetime | None]
    uses: Mapped[int | None]
    """Machines that may join with it; None: it is no join token."""
    used: Mapped[int] = mapped_column(server_default="0")
    """Machines that have joined with it."""


class SignInCodeRow(Base):
    """Deleted by its use, in the same transaction: a second use finds nothing."""

    __tablename__ = "sign_in_codes"

    hash: Mapped[bytes] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    token_id: Mapped[UUID] = mapped_column(ForeignKey("api_tokens.id", ondelete="CASCADE"))
    """The API token of the caller who made it, or the one from which that caller's session came."""
    expires_at: Mapped[datetime]


class SessionRow(Base):
    """A browser that is signed in; `hash` is of its cookie. It ends with the API token that it came from."""

    __tablename__ = "sessions"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    hash: Mapped[bytes] = mapped_column(unique=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_id: Mapped[UUID] = mapped_column(ForeignKey("api_tokens.id", ondelete="CASCADE"), index=True)
    browser: Mapped[str]
    """As `user_agent.name_browser` calls it."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_used_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
    """Never after the end of its token."""
