from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class MediaRow(Base):
    """One logged item. A later one of the same name, process and step takes its place."""

    __tablename__ = "media"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    name: Mapped[str]
    kind: Mapped[str]
    rank: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    samples: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int] = mapped_column(BigInteger)
    attempt: Mapped[int]
    time: Mapped[datetime]
    size: Mapped[int]
    width: Mapped[int | None]
    height: Mapped[int | None]
    content: Mapped[bytes] = mapped_column(deferred=True)

    __table_args__ = (UniqueConstraint("job_id", "name", "rank", "step"),)
