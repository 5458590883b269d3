from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.artifacts.models import ArtifactRow, CheckpointRow, ExportRow, FileRow
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.process.saving.checkpoint_names import folder_of

_NEWEST_FIRST = (CheckpointRow.attempt.desc(), (CheckpointRow.number == FINAL_CHECKPOINT).desc(), CheckpointRow.number.desc())
"""The last checkpoint of an attempt has number 0, the others count up."""


def put_file(session: Session, row: FileRow) -> None:
    session.merge(row)
    session.flush()


def file(session: Session, job_id: UUID, attempt: int, path: str) -> FileRow | None:
    return session.get(FileRow, (job_id, attempt, path))


def files(session: Session, job_id: UUID) -> list[FileRow]:
    return list(session.scalars(select(FileRow).where(FileRow.job_id == job_id).order_by(FileRow.attempt, FileRow.path)))


def stored_bytes(session: Session, job_id: UUID, *, but: tuple[int, str]) -> int:
    """Sum the bytes of the job's files. `but` names one that does not count: an attempt, and a path there."""
    others = tuple_(FileRow.attempt, FileRow.path) != but
    return int(session.scalar(select(func.coalesce(func.sum(FileRow.size), 0)).where(FileRow.job_id == job_id, others)) or 0)


def paths_below(session: Session, job_id: UUID, attempt: int, folder: str) -> set[str]:
    """Names within one folder of an attempt."""
    statement = select(FileRow.path).where(
        FileRow.job_id == job_id, FileRow.attempt == attempt, FileRow.path.startswith(folder, autoescape=True)
    )
    return {path.removeprefix(folder) for path in session.scalars(statement)}


def checkpoint(session: Session, job_id: UUID, attempt: int, number: int) -> CheckpointRow | None:
    return session.get(CheckpointRow, (job_id, attempt, number))


def checkpoints(session: Session, job_id: UUID) -> list[CheckpointRow]:
    """All committed checkpoints of a job, the newest first."""
    return list(session.scalars(select(CheckpointRow).where(CheckpointRow.job_id == job_id).order_by(*_NEWEST_FIRST)))


def remove_checkpoint(session: Session, job_id: UUID, attempt: int, number: int, *, but: Collection[str]) -> None:
    """Also one that was never committed. `but`: paths of files that stay."""
    remove_folder(session, job_id, attempt, folder_of(number), but=but)
    row = checkpoint(session, job_id, attempt, number)
    if row is not None:
        session.delete(row)


def remove_folder(session: Session, job_id: UUID, attempt: int, folder: str, *, but: Collection[str] = ()) -> None:
    """Remove the rows of all files below a folder. `but`: paths of files that stay."""
    below = FileRow.path.startswith(folder, autoescape=True)
    gone = (FileRow.job_id == job_id, FileRow.attempt == attempt, below, FileRow.path.not_in(but))
    session.execute(delete(FileRow).where(*gone))


def exports(session: Session, job_id: UUID) -> list[ExportRow]:
    """All exports of a job, the newest first."""
    return list(session.scalars(select(ExportRow).where(ExportRow.job_id == job_id).order_by(ExportRow.number.desc())))


def exports_of(session: Session, job_ids: Sequence[UUID]) -> list[ExportRow]:
    """The committed exports of these jobs."""
    committed = (ExportRow.job_id.in_(job_ids), ExportRow.committed_at.is_not(None))
    return list(session.scalars(select(ExportRow).where(*committed)))


def artifacts(session: Session, job_id: UUID) -> list[ArtifactRow]:
    return list(session.scalars(select(ArtifactRow).where(ArtifactRow.job_id == job_id).order_by(ArtifactRow.name)))


def artifact(session: Session, job_id: UUID, name: str) -> ArtifactRow | None:
    return session.get(ArtifactRow, (job_id, name))


def put_artifact(
    session: Session, *, job_id: UUID, name: str, kind: str, path: str, size: int, sha256: str, note: str | None
) -> None:
    values = {"kind": kind, "path": path, "size": size, "sha256": sha256, "note": note, "created_at": func.clock_timestamp()}
    row = insert(ArtifactRow).values(job_id=job_id, name=name, **values)
    session.execute(row.on_conflict_do_update(index_elements=["job_id", "name"], set_=values))


def remove_artifact(session: Session, row: ArtifactRow) -> None:
    """Remove it with the row of its file."""
    attempt, _, path = row.path.partition("/")
    remove_file(session, row.job_id, int(attempt), path)
    session.delete(row)


def checkpoints_of(session: Session, job_ids: Sequence[UUID]) -> list[CheckpointRow]:
    """The committed checkpoints of these jobs."""
    return list(session.scalars(select(CheckpointRow).where(CheckpointRow.job_id.in_(job_ids))))


def files_of(session: Session, job_ids: Sequence[UUID]) -> list[tuple[UUID, int, str]]:
    """Job, attempt and path of each stored file."""
    found = session.execute(select(FileRow.job_id, FileRow.attempt, FileRow.path).where(FileRow.job_id.in_(job_ids)))
    return [(job_id, attempt, path) for job_id, attempt, path in found]


def artifacts_of(session: Session, job_ids: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """Job and path of each artifact."""
    found = session.execute(select(ArtifactRow.job_id, ArtifactRow.path).where(ArtifactRow.job_id.in_(job_ids)))
    return [(job_id, path) for job_id, path in found]


def remove_file(session: Session, job_id: UUID, attempt: int, path: str) -> None:
    session.execute(delete(FileRow).where(FileRow.job_id == job_id, FileRow.attempt == attempt, FileRow.path == path))
