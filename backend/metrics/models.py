"""Measured points, stored twice: each batch as it came, which is the truth, and blocks made from it, which charts read.

The points of a batch with a number above `MetricStoreRow.folded` are not in blocks yet; the others are."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, LargeBinary, UniqueConstraint
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
    payload: Mapped[bytes] = mapped_column(LargeBinary)
    """As it came (`gradstream.wire.telemetry.records`), compressed: see `payloads`."""
    totals: Mapped[bytes] = mapped_column(LargeBinary)
    """Points of each of its series with this batch, as 64-bit numbers, in the order in which the batch begins the series."""

    __table_args__ = (UniqueConstraint("job_id", "attempt", "source", "batch"),)


class MetricSeriesRow(Base):
    """A series: the points of one metric and rank that one process measured in one attempt, in the order of arrival."""

    __tablename__ = "metric_series"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    source: Mapped[str]
    """The label of the process, over all its incarnations."""
    name: Mapped[str]
    rank: Mapped[int]
    count: Mapped[int] = mapped_column(BigInteger, default=0)
    """Points in all."""
    folded: Mapped[int] = mapped_column(BigInteger, default=0)
    """Points in blocks."""
    summary: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Summary of the points in blocks, as `blocks.pack` writes it."""
    tally: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Tally of the points in blocks, as `tally.pack` writes it; None: they have none."""

    __table_args__ = (UniqueConstraint("job_id", "name", "attempt", "source", "rank"),)


class MetricBlockRow(Base):
    """A block of a series; see `pyramid`."""

    __tablename__ = "metric_blocks"

    series_id: Mapped[int] = mapped_column(ForeignKey("metric_series.id", ondelete="CASCADE"), primary_key=True)
    level: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)
    tally: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Count of each value among its points; None: at level 0, and where `tally` makes none."""


class MetricStoreRow(Base):
    """State of a job's stored metrics; written under the lock of the job's row."""

    __tablename__ = "metric_stores"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    folded: Mapped[int] = mapped_column(BigInteger, default=0)
    """The number in the feed up to which batches are in blocks."""
    waiting: Mapped[int] = mapped_column(BigInteger, default=0)
    """Points that are not in blocks yet."""
    forgotten_at: Mapped[datetime | None]
    """When the metrics were removed, as the job's `retention` says."""
