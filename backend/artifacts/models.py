from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class FileRow(Base):
    """A file that a process of an attempt has put into the store."""

    __tablename__ = "files"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    process_id: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class CheckpointRow(Base):
    """A committed checkpoint. Without this row its files are nothing; with it they are all there."""

    __tablename__ = "checkpoints"

    job_id: Mapped[UUID] = mapped_column(primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    manifest: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())

    __table_args__ = (ForeignKeyConstraint(["job_id", "attempt"], ["attempts.job_id", "attempts.number"], ondelete="CASCADE"),)


class ExportRow(Base):
    """An export that was asked for, or one of a pass or of the end of an attempt. It is committed once it has a manifest."""

    __tablename__ = "exports"

    job_id: Mapped[UUID] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    """Counts the exports of the job."""
    attempt: Mapped[int]
    place: Mapped[int]
    """Its number in the log of the attempt; 0: the last one."""
    manifest: Mapped[dict[str, Any] | None]
    asked_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    committed_at: Mapped[datetime | None]

    __table_args__ = (
        ForeignKeyConstraint(["job_id", "attempt"], ["attempts.job_id", "attempts.number"], ondelete="CASCADE"),
        UniqueConstraint("job_id", "attempt", "place"),
    )


class ArtifactRow(Base):
    """A file that a job leaves to its user. `path` is relative to the job's folder in the store."""

    __tablename__ = "artifacts"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    path: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    note: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
