from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class NodeRow(Base):
    __tablename__ = "nodes"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(unique=True)
    credential_hash: Mapped[bytes | None] = mapped_column(unique=True)
    """Hash of the secret that its agent made when it joined, and registers with after each start. None: it has to join again."""
    next_credential_hash: Mapped[bytes | None] = mapped_column(unique=True)
    """Hash of the credential that its agent changes to. Both count until the first use of this one, which ends the other."""
    rotating_since: Mapped[datetime | None]
    """A user has asked for another credential, and its agent has not used one yet."""
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    """Hash of the token that its agent sends with each message until it registers again."""
    joined_at: Mapped[datetime | None]
    joined_with: Mapped[str | None]
    """The join token, in words: tokens are deleted, this stays. None, as its time: an older version let it in."""
    status: Mapped[str]
    slots: Mapped[int]
    cpus: Mapped[int]
    memory: Mapped[int] = mapped_column(BigInteger)
    gpus: Mapped[list[dict[str, Any]]]
    labels: Mapped[dict[str, Any]] = mapped_column(default=dict)
    isolation: Mapped[dict[str, Any] | None]
    """`Isolation`, as its agent found it; None: it does not tell."""
    torch: Mapped[dict[str, Any] | None]
    """`ReportedTorch`; None: its agent does not tell."""
    version: Mapped[str]
    load: Mapped[float | None]
    memory_used: Mapped[int | None] = mapped_column(BigInteger)
    registered_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    draining_since: Mapped[datetime | None]
    """No process is placed there; what runs may finish. Stays when its agent registers anew."""
    trouble: Mapped[str | None]
    """Why jobs are kept away from it: it did not act on its orders, or could not start processes. None: they are not."""
    trouble_since: Mapped[datetime | None]
    troubles: Mapped[int] = mapped_column(default=0)
    """How often in a row; the next try comes later each time."""
    retry_at: Mapped[datetime | None]
    """From then on processes are placed there again, to see whether they start."""
    removed_at: Mapped[datetime | None]
    """It is in no list and gets no process, and its token is refused, until a machine registers by its name. The row stays for
    the processes of old jobs."""


class PresenceRow(Base):
    """One row for all API processes: since when at least one of them has been there without a break."""

    __tablename__ = "presence"

    service: Mapped[str] = mapped_column(primary_key=True)
    up_since: Mapped[datetime]
    last_seen_at: Mapped[datetime]
