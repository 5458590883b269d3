"""Files in the folder of an ended job that somebody may still ask for. Nothing is added there any more: the platform refuses
processes of an ended attempt."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import checkpoints, repository
from gradstream.process.saving.checkpoint_names import CheckpointPath
from gradstream.process.saving.exports import ExportPath
from gradstream.process.store import START

_START_FOLDER = "start/"


def named_paths(session: Session, job_ids: Sequence[UUID]) -> dict[UUID, set[str]]:
    """Return, for each job, the paths in its folder that a row names, without the parts of checkpoints and exports that were never
    committed: no job starts from those. A file that a committed checkpoint rests on stays, too."""
    rows = repository.checkpoints_of(session, job_ids)
    committed = {(row.job_id, row.attempt, row.number) for row in rows}
    rested = {(row.job_id, *place) for row in rows for place in checkpoints.rested_on(row.manifest)}
    exported = {(row.job_id, row.attempt, row.place) for row in repository.exports_of(session, job_ids)}
    named: dict[UUID, set[str]] = {job_id: set() for job_id in job_ids}
    for job_id, attempt, path in repository.files_of(session, job_ids):
        at, export = CheckpointPath.parse(path), ExportPath.parse(path)
        if export and (job_id, attempt, export.place) not in exported:
            continue
        if at is None or (job_id, attempt, at.number) in committed or (job_id, attempt, path) in rested:
            named[job_id].add(f"{attempt}/{path}")
    for job_id, path in repository.artifacts_of(session, job_ids):
        named[job_id].add(path)
    return named


def is_start_file(path: str) -> bool:
    """Return whether the job started from this file: a copy that no row names."""
    return path == START or path.startswith(_START_FOLDER)


def forget(session: Session, job_id: UUID, path: str) -> None:
    """Remove the row of a part, if it has one, before its file is removed."""
    attempt, _, inner = path.partition("/")
    if attempt.isdecimal():
        repository.remove_file(session, job_id, int(attempt), inner)
