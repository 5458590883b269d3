from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, cast, func, select, text
from sqlalchemy.orm import InstrumentedAttribute, Session

from backend.artifacts.models import FileRow
from backend.bundles.models import BundleRow
from backend.jobs.models import JobRow

_IS_CHECKPOINT = FileRow.path.startswith("checkpoints/")
LOG_TABLES = ("log_chunks",)
MEDIA_TABLES = ("media",)
METRIC_TABLES = ("metric_batches", "metric_series", "metric_blocks", "metric_stores", "update_samples")


def count_bundles(session: Session) -> tuple[int, int]:
    """Return how many, and their bytes."""
    count, size = session.execute(select(func.count(), _sum(BundleRow.size)).select_from(BundleRow)).one()
    return count, size


def count_files(session: Session, *, checkpoints: bool) -> tuple[int, int]:
    """Return how many, and their bytes."""
    kind = _IS_CHECKPOINT if checkpoints else ~_IS_CHECKPOINT
    count, size = session.execute(select(func.count(), _sum(FileRow.size)).select_from(FileRow).where(kind)).one()
    return count, size


def table_bytes(session: Session, tables: Sequence[str]) -> int:
    return sum(int(session.scalar(text("SELECT pg_total_relation_size(:name)"), {"name": name}) or 0) for name in tables)


def largest_jobs(session: Session, most: int) -> list[tuple[UUID, str, int]]:
    """Id, name and bytes of each, the largest first."""
    size = _sum(FileRow.size)
    found = select(JobRow.id, JobRow.name, size).join(FileRow, FileRow.job_id == JobRow.id).group_by(JobRow.id)
    return [(id, name, total) for id, name, total in session.execute(found.order_by(size.desc(), JobRow.id).limit(most))]


def ended_or_not(session: Session, ids: Sequence[UUID]) -> dict[UUID, bool]:
    """Return whether each of the jobs has ended; without those that are not there."""
    found = select(JobRow.id, JobRow.ended_at.is_not(None)).where(JobRow.id.in_(ids))
    return {id: ended for id, ended in session.execute(found)}


def _sum(column: InstrumentedAttribute[int]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
