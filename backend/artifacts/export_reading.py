"""The exports of a job, as users and readers see them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import repository
from backend.artifacts.models import ExportRow
from backend.files import FileStore
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.progress.state import failed_exports
from gradstream.api.history import ExportState, JobExport
from gradstream.api.statuses import JobStatus
from gradstream.center.entries import LAST_EXPORT
from gradstream.errors import NotFound
from gradstream.process.saving.exports import ExportManifest, export_folder
from gradstream.process.store import TENSORS


def list_exports(session: Session, job_id: UUID) -> list[JobExport]:
    """Return the exports of a job, the newest first. Raises: NotFound."""
    job, rows = jobs.find(session, job_id), repository.exports(session, job_id)
    newest_committed = max((row.number for row in rows if row.manifest), default=0)
    return [describe(row, job, newest_committed, _next_at(row, job) if row is rows[0] else None) for row in rows]


def _next_at(newest: ExportRow, job: JobRow) -> datetime | None:
    """Return when the next export is asked for, because this one failed."""
    delay, export = failed_exports(job.progress, job.attempt).retry_delay(newest.place), jobs.spec_of(job).export
    retries = (
        job.status == JobStatus.RUNNING and newest.attempt == job.attempt and export is not None and export.seconds is not None
    )
    return newest.asked_at + timedelta(seconds=delay) if retries and delay is not None else None


def describe(row: ExportRow, job: JobRow, newest_committed: int, next_at: datetime | None = None) -> JobExport:
    """`newest_committed`: the number of the job's newest committed export; 0: none."""
    manifest = ExportManifest.model_validate(row.manifest) if row.manifest else None
    live = job.status == JobStatus.RUNNING and row.attempt == job.attempt and row.number > newest_committed
    has_failed = live and row.place != LAST_EXPORT and row.place <= failed_exports(job.progress, job.attempt).place
    state: ExportState = "committed" if manifest else "failed" if has_failed else "asked" if live else "abandoned"
    return JobExport(
        number=row.number,
        state=state,
        after=manifest and manifest.after,
        base=manifest and manifest.after is None,
        attempt=row.attempt,
        version=manifest and manifest.exported.version,
        samples=manifest and manifest.exported.samples,
        passes=(manifest and manifest.exported.passes) or None,
        rows=manifest and manifest.rows,
        gone=manifest and manifest.gone,
        size=manifest and manifest.nbytes,
        asked_at=row.asked_at,
        committed_at=row.committed_at,
        next_at=next_at,
    )


def find_manifest(session: Session, job_id: UUID, number: int) -> ExportManifest:
    """Raises: NotFound: there is no such export, or it is not committed."""
    return _find(session, job_id, number)[1]


def find_file(session: Session, files: FileStore, job_id: UUID, number: int, name: str) -> tuple[str, Path]:
    """Return checksum and place of a file of an export. Raises: NotFound."""
    row, manifest = _find(session, job_id, number)
    listed = next((file for file in manifest.files if file.name == name), None)
    if listed is None:
        raise NotFound(f"Export {number} has no file '{name}'.", job=str(job_id), name=name)
    path = TENSORS if listed is manifest.tensors else export_folder(row.place) + name
    return listed.sha256, files.of_attempt(job_id, row.attempt, path)


def _find(session: Session, job_id: UUID, number: int) -> tuple[ExportRow, ExportManifest]:
    jobs.find(session, job_id)
    row = next((row for row in repository.exports(session, job_id) if row.number == number), None)
    if row is None or row.manifest is None:
        raise NotFound(f"The job has no export {number} (yet), or an old one that is gone.", job=str(job_id), export=number)
    return row, ExportManifest.model_validate(row.manifest)
