"""What was measured, twice: each batch as it came, which is the truth, and blocks made from it, which charts read.

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
    """As it came (`gradstream.wire.records`), compressed: see `payloads`."""
    totals: Mapped[bytes] = mapped_column(LargeBinary)
    """For each of its series, in the order in which it begins them: points of that series with this batch, as 64-bit numbers."""

    __table_args__ = (UniqueConstraint("job_id", "attempt", "source", "batch"),)


class MetricSeriesRow(Base):
    """What one process measured of one thing in one attempt, in the order of arrival."""

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
    """Those of them that are in blocks."""
    summary: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Of those in blocks, as `blocks.pack` writes it."""
    tally: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Likewise, as `tally.pack` writes it; None: they have none."""

    __table_args__ = (UniqueConstraint("job_id", "name", "attempt", "source", "rank"),)


class MetricBlockRow(Base):
    """See `pyramid`."""

    __tablename__ = "metric_blocks"

    series_id: Mapped[int] = mapped_column(ForeignKey("metric_series.id", ondelete="CASCADE"), primary_key=True)
    level: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)
    tally: Mapped[bytes | None] = mapped_column(LargeBinary)
    """How often each value is among its points; None: at level 0, and where `tally` makes none."""


class MetricStoreRow(Base):
    """What is kept of a job's metrics; written under the lock of the job's row."""

    __tablename__ = "metric_stores"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    folded: Mapped[int] = mapped_column(BigInteger, default=0)
    """The number in the feed up to which batches are in blocks."""
    waiting: Mapped[int] = mapped_column(BigInteger, default=0)
    """Points that are not."""
    forgotten_at: Mapped[datetime | None]
    """When they were removed, as the job's `retention` says."""
