from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class UpdateSampleRow(Base):
    """One sampled push. A later one of the same worker and step takes its place."""

    __tablename__ = "update_samples"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    rank: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    attempt: Mapped[int]
    staleness: Mapped[int] = mapped_column(BigInteger)
    lost: Mapped[int] = mapped_column(BigInteger)
    """Samples that its process had lost before."""
    size: Mapped[int]
    content: Mapped[bytes] = mapped_column(deferred=True)
    """The whole `UpdateSample`, as JSON."""

    __table_args__ = (UniqueConstraint("job_id", "rank", "step"),)
