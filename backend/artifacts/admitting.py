"""Which files a process may store, decided before a byte of one is read, and once more under the job's lock."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import repository
from backend.artifacts.stored_json import most_bytes
from backend.jobs import lifecycle
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.lifecycle import End
from backend.jobs.models import JobRow, ProcessRow
from backend.platform import Platform
from gradstream.api.statuses import JobStatus
from gradstream.errors import Conflict, Invalid, NotSignedIn, TooLarge
from gradstream.process.environment import ENVIRONMENT
from gradstream.process.saving.checkpoint_names import EARLIER, CheckpointPath, shard_part, worker_part
from gradstream.process.saving.exports import ExportPath
from gradstream.process.saving.model_files import model_of
from gradstream.process.saving.table_summary import summary_file
from gradstream.process.store import EVALUATIONS, RESULT, TENSORS, tables_file
from gradstream.updates.parameter_table import PARAMETERS

REASON = "stored_bytes"
_OF_EVALUATOR = frozenset({RESULT, EVALUATIONS})
_OF_FIRST_WORKER = frozenset({ENVIRONMENT, PARAMETERS, TENSORS})


def admit(platform: Platform, process: UUID, path: str, size: int) -> None:
    """A file of so many bytes, which have not been read. A job that has too many ends. Raises: as `require`."""
    with platform.database.transaction() as session:
        row = find_process(session, process)
        job = jobs.find(session, row.job_id)
        try:
            require(session, platform, job, row, path, size)
        except TooLarge as error:
            too_large = error
        else:
            return
    _end_job(platform, process, too_large.message)
    raise too_large


def find_process(session: Session, process_id: UUID) -> ProcessRow:
    """Raises: NotSignedIn."""
    process = job_rows.process(session, process_id)
    if process is None:
        raise NotSignedIn("This process is not known any more.")
    return process


def require(session: Session, platform: Platform, job: JobRow, process: ProcessRow, path: str, size: int) -> None:
    """Raises: Invalid: no name for a file here, or too large for its kind. Conflict: the process, or its attempt, is over (fenced).
    TooLarge: with it the job would have more than its bytes."""
    if not _may_store(process, path) and not (_is_of_shard(process.rank, path) and _holds_shard(job, process)):
        raise Invalid(f"'{path}' is not a file that {process.label} may store.", path=path)
    allowed = most_bytes(path)
    if allowed is not None and size > allowed:
        raise Invalid(f"{path} has {size:,} bytes, {allowed:,} are allowed.", path=path)
    attempt = job_rows.attempt(session, job.id, process.attempt)
    if process.attempt != job.attempt or attempt is None or attempt.ended_at is not None:
        raise Conflict(f"Attempt {process.attempt} of this job is over.", attempt=process.attempt, live=job.attempt)
    if process.ended_at is not None:
        raise Conflict(f"{process.label} has ended; it stores nothing any more.", process=str(process.id))
    most = platform.settings.job_files_bytes
    others = repository.stored_bytes(session, job.id, but=(process.attempt, path))
    if others + size > most:
        raise TooLarge(
            f"{process.label} sends {path} of {_gigabytes(size)}, which would bring the job above {_gigabytes(most)} of "
            "files, the limit for a job. Keep fewer or smaller checkpoints, or raise the platform's GRADSTREAM_JOB_FILES_BYTES.",
            limit=most,
        )


def _may_store(process: ProcessRow, path: str) -> bool:
    """User code shares its process's token: it reaches no other part of a checkpoint, and never the manifest."""
    at = CheckpointPath.parse(path)
    match process.role:
        case "evaluator":
            return path in _OF_EVALUATOR or model_of(path) is not None
        case "worker":
            own = at is not None and at.part == worker_part(process.rank) and at.suffix != EARLIER
            return own or (process.rank == 0 and path in _OF_FIRST_WORKER)
        case "peers":
            return False  # their worker stores for them
        case "server":
            return _is_of_shard(process.rank, path)


def _holds_shard(job: JobRow, process: ProcessRow) -> bool:
    """In a job without servers a worker stores the part of its shard, too, and worker 0 the manifest."""
    return process.role == "worker" and jobs.spec_of(job).holds_shard(process.role, process.rank)


def _is_of_shard(shard: int, path: str) -> bool:
    """Return whether the holder of a shard stores this file."""
    at, exported, part = CheckpointPath.parse(path), ExportPath.parse(path), shard_part(shard)
    if path in (tables_file(shard), summary_file(shard)) or (exported and exported.part == part):
        return True
    return at is not None and at.suffix != EARLIER and (at.part == part or (at.part is None and shard == 0))


def _end_job(platform: Platform, process_id: UUID, message: str) -> None:
    """It could not store its model either."""
    with platform.database.transaction() as session:
        process = find_process(session, process_id)
        job = jobs.lock(session, process.job_id)
        if job.attempt == process.attempt and job.status in (JobStatus.STARTING, JobStatus.RUNNING):
            lifecycle.begin_end(session, job, End(JobStatus.FAILED, REASON, message), actor=process.label)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
