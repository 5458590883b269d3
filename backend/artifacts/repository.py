from __future__ import annotations

from uuid import UUID

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.artifacts.models import ArtifactRow, CutRow, FileRow
from gradstream.center.entries import FINAL_CUT

_NEWEST_FIRST = (CutRow.attempt.desc(), (CutRow.number == FINAL_CUT).desc(), CutRow.number.desc())
"""The last cut of an attempt has number 0, the others count up."""


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


def cut(session: Session, job_id: UUID, attempt: int, number: int) -> CutRow | None:
    return session.get(CutRow, (job_id, attempt, number))


def cuts(session: Session, job_id: UUID) -> list[CutRow]:
    """All committed cuts of a job, the newest first."""
    return list(session.scalars(select(CutRow).where(CutRow.job_id == job_id).order_by(*_NEWEST_FIRST)))


def remove_cut(session: Session, job_id: UUID, attempt: int, number: int) -> None:
    """Also one that was never committed."""
    below = FileRow.path.startswith(f"cuts/{number}/", autoescape=True)
    session.execute(delete(FileRow).where(FileRow.job_id == job_id, FileRow.attempt == attempt, below))
    row = cut(session, job_id, attempt, number)
    if row is not None:
        session.delete(row)


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
