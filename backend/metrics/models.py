from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, Double, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class MetricBatchRow(Base):
    """Points that one process sent together. (source, batch) is given by the sender: a repeat finds it taken."""

    __tablename__ = "metric_batches"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    attempt: Mapped[int]
    source: Mapped[str]
    batch: Mapped[int] = mapped_column(BigInteger)

    __table_args__ = (UniqueConstraint("job_id", "attempt", "source", "batch"),)


class MetricPointRow(Base):
    """Every point that was ever measured; `source` stands here too, so that drawing a series reads one table."""

    __tablename__ = "metric_points"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    """Order within the batch."""
    name: Mapped[str]
    source: Mapped[str]
    rank: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    samples: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int] = mapped_column(BigInteger)
    time: Mapped[float] = mapped_column(Double)
    value: Mapped[float] = mapped_column(Double)

    __table_args__ = (Index("ix_metric_points_series", "job_id", "name", "seq"),)
