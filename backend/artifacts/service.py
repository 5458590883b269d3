"""Files of attempts, the checkpoints that they make, and the artifacts that a job leaves to its user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import admitting, checkpoints, exports, repository
from backend.artifacts.models import CheckpointRow, FileRow
from backend.artifacts.schemas import Artifacts, JobCheckpoint, JobFile, JobFiles, Kind, StoredFile
from backend.artifacts.stored_json import about_model, read_manifest, read_parameters, read_result, read_table_summary
from backend.db import after_commit
from backend.files import FileStore
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.platform import Platform
from backend.web.uploads import Upload
from gradstream.api.history import Artifact
from gradstream.api.model.parameters import JobParameters
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.errors import Invalid, NotFound, NotSignedIn
from gradstream.process.environment import ENVIRONMENT
from gradstream.process.saving.checkpoint_names import LIST, CheckpointPath, folder_of
from gradstream.process.saving.exports import PART, ExportPath
from gradstream.process.saving.model_files import INDEX, describe, model_of, read_index
from gradstream.process.saving.table_summary import is_summary_file
from gradstream.process.store import MODEL, RESULT, START, TENSORS, TENSORS_EARLIER, is_tables_file
from gradstream.updates.parameter_table import PARAMETERS


@dataclass(frozen=True, slots=True)
class Found:
    name: str
    sha256: str
    job_name: str


def put(session: Session, platform: Platform, process_id: UUID, path: str, upload: Upload, sha256: str) -> StoredFile:
    """Store a file of the live attempt, and commit the checkpoint that it completes.

    Raises: Invalid: damaged on the way, or a content that does not fit the job; and as `admitting.require`.
    """
    at = CheckpointPath.parse(path)
    if upload.sha256 != sha256:
        raise Invalid("The file was damaged on its way; send it again.", expected=sha256, received=upload.sha256)
    process = admitting.find_process(session, process_id)
    job = jobs.lock(session, process.job_id)
    session.refresh(process)  # it may have ended while its file was on the way
    admitting.require(session, platform, job, process, path, upload.size)
    if at:
        checkpoints.require_open(session, job, process.attempt, at, path, sha256)
    if exported := ExportPath.parse(path):
        exports.require_open(session, job, process.attempt, exported, path, sha256)
    _check_content(session, job, process.attempt, path, upload.path)
    platform.files.put(upload.path, platform.files.of_attempt(job.id, process.attempt, path))
    row = FileRow(job_id=job.id, attempt=process.attempt, path=path, size=upload.size, sha256=sha256, process_id=process.id)
    repository.put_file(session, row)
    completes = at is not None and at.may_complete
    committed = checkpoints.commit_if_complete(session, platform, job, process, at.number) if at and completes else None
    exports.commit_complete(session, platform, job, process, path)
    if model := model_of(path):
        _enter_model(session, platform.files, job, process.attempt, path, model)
    elif path == ENVIRONMENT or is_tables_file(path):
        kind: Kind = "environment" if path == ENVIRONMENT else "model"
        enter(session, job, process.attempt, path, kind, size=upload.size, sha256=sha256)
    return StoredFile(path=path, size=upload.size, sha256=sha256, committed_checkpoint=committed)


def _check_content(session: Session, job: JobRow, attempt: int, path: str, received: Path) -> None:
    """Raises: Invalid: the platform could not use it later."""
    at = CheckpointPath.parse(path)
    if at and at.part is None:
        read_manifest(received, jobs.spec_of(job))
    elif at and at.suffix == LIST:
        checkpoints.check_list(session, job, attempt, at, received)
    elif (exported := ExportPath.parse(path)) and exported.suffix == PART:
        exports.check_part(session, job, attempt, exported, received)
    elif path.endswith(INDEX) and (model := model_of(path)):
        _check_index(session, job.id, attempt, model, received)
    elif path == RESULT:
        read_result(received)
    elif path == PARAMETERS:
        read_parameters(received)
    elif is_summary_file(path):
        read_table_summary(received)


def _check_index(session: Session, job_id: UUID, attempt: int, model: str, received: Path) -> None:
    """Raises: Invalid: it is no index, or the attempt has not stored all parts."""
    missing = [part for part in read_index(received, model).parts if repository.file(session, job_id, attempt, part) is None]
    if missing:
        raise Invalid(f"{missing[0]} is not stored; an index comes after all parts.", path=missing[0])


def _enter_model(session: Session, files: FileStore, job: JobRow, attempt: int, path: str, model: str) -> None:
    """Give the user a stored file of a model. The parts of an attempt wait for their index. With it, or with the one file of a
    smaller model, the files of an earlier attempt go, so that the job has one whole model at any time."""
    is_part = path not in (model, model + INDEX)
    if is_part and repository.file(session, job.id, attempt, model + INDEX) is None:
        return
    whole = [path] if is_part or path == model else [*read_index(files.of_attempt(job.id, attempt, path), model).parts, path]
    for name in whole:
        row = repository.file(session, job.id, attempt, name)
        assert row is not None, "it is stored"
        note = about_model(files.of_attempt(job.id, attempt, name), name)
        enter(session, job, attempt, name, "model", size=row.size, sha256=row.sha256, note=note)
    others = [each for each in repository.artifacts(session, job.id) if model_of(each.name) == model and each.name not in whole]
    for other in () if is_part else others:
        repository.remove_artifact(session, other)
        remove = partial((files.of_job(job.id) / other.path).unlink, missing_ok=True)
        after_commit(session, ("model", job.id, other.path), remove)


def latest_file(session: Session, files: FileStore, process_id: UUID, name: str) -> Path:
    """Find the file of this name from the newest attempt that has stored one. Raises: NotFound."""
    process = job_rows.process(session, process_id)
    if process is None:
        raise NotSignedIn("This process is not known any more.")
    found = [row for row in repository.files(session, process.job_id) if row.path == name]
    if not found:
        raise NotFound(f"No attempt has stored {name}.", name=name)
    return files.of_attempt(process.job_id, found[-1].attempt, name)


def parameters(session: Session, files: FileStore, job_id: UUID) -> JobParameters:
    """Return the table from the newest attempt that has stored one. Raises: NotFound."""
    jobs.find(session, job_id)
    found = [row for row in repository.files(session, job_id) if row.path == PARAMETERS]
    if not found:
        return JobParameters(attempt=None, table=None)
    attempt = found[-1].attempt
    return JobParameters(attempt=attempt, table=read_parameters(files.of_attempt(job_id, attempt, PARAMETERS)))


def start_file(session: Session, files: FileStore, process_id: UUID, name: str | None = None) -> Path:
    """`name`: a file of the checkpoint that the job starts from, or of trained rows; None: its model. Raises: NotFound: it starts
    from no such file."""
    process = job_rows.process(session, process_id)
    if process is None:
        raise NotSignedIn("This process is not known any more.")
    if (
        name is not None
        and name not in (TENSORS, TENSORS_EARLIER)
        and not (_is_of_a_part(name) or model_of(name) or is_tables_file(name))
    ):
        raise NotFound(f"'{name}' is not a file of the model or checkpoint that the job starts from.", name=name)
    path = files.of_job(process.job_id) / START if name is None else files.of_start(process.job_id, name)
    if not path.exists():
        raise NotFound("This job does not start from another job's weights.")
    return path


def _is_of_a_part(name: str) -> bool:
    at = CheckpointPath.parse(folder_of(FINAL_CHECKPOINT) + name)
    return at is not None and at.part is not None


def model_files(session: Session, files: FileStore, job_id: UUID, model: str) -> tuple[Found, dict[str, Path]]:
    """Return the file of a model or its index, and by name all of its files. Raises: NotFound. Invalid: its parts are just being
    replaced."""
    try:
        found, path = find(session, files, job_id, model + INDEX)
    except NotFound:
        found, path = find(session, files, job_id, model)
        return found, {model: path}
    index = read_index(path, model)
    parts = {part: find(session, files, job_id, part)[1] for part in index.parts}
    if any(describe(part) != index.metadata.gradstream for part in parts.values()):
        raise Invalid(f"The parts of {model} are just being replaced; try again.")
    return found, {found.name: path} | parts


def trained_rows(session: Session, files: FileStore, job_id: UUID) -> dict[str, Path]:
    """Return, by name, the files with the trained rows of a job's embedding tables. Empty: it has none yet."""
    rows = repository.artifacts(session, job_id)
    return {row.name: files.of_job(job_id) / row.path for row in rows if is_tables_file(row.name)}


def newest_checkpoint(session: Session, job_id: UUID) -> CheckpointRow | None:
    found = kept_checkpoints(session, job_id)
    return found[0] if found else None


def kept_checkpoints(session: Session, job_id: UUID) -> list[CheckpointRow]:
    """Return the committed checkpoints that the job still has, the newest first."""
    return repository.checkpoints(session, job_id)


def weights_of_checkpoint(session: Session, files: FileStore, row: CheckpointRow) -> dict[str, Path] | None:
    """Return, by name, the files of a checkpoint: the shards of the center and the description of its tensors. None: there is no
    description."""
    described = [file for file in repository.files(session, row.job_id) if file.path in (TENSORS, TENSORS_EARLIER)]
    if not described:
        return None
    places = [(described[-1].attempt, described[-1].path)]
    places += [(row.attempt, path) for path in checkpoints.shard_states(session, row)]
    found = {Path(path).name: files.of_attempt(row.job_id, attempt, path) for attempt, path in places}
    return found | checkpoints.row_files(session, files, row)


def is_committed(session: Session, job_id: UUID, attempt: int, checkpoint: int) -> bool:
    return repository.checkpoint(session, job_id, attempt, checkpoint) is not None


def has_model(session: Session, job_id: UUID, attempt: int) -> bool:
    return any(repository.file(session, job_id, attempt, name) is not None for name in (MODEL, MODEL + INDEX))


def result(session: Session, files: FileStore, job_id: UUID, attempt: int) -> dict[str, object]:
    """Return the evaluator's result; empty if it has stored none."""
    if repository.file(session, job_id, attempt, RESULT) is None:
        return {}
    try:
        return read_result(files.of_attempt(job_id, attempt, RESULT)).model_dump(mode="json", exclude_unset=True)
    except Invalid:  # stored by an earlier version, which took any
        return {}


def enter(
    session: Session, job: JobRow, attempt: int, name: str, kind: Kind, *, size: int, sha256: str, note: str | None = None
) -> None:
    """Give the user a file that lies in the attempt's folder."""
    repository.put_artifact(
        session, job_id=job.id, name=name, kind=kind, path=f"{attempt}/{name}", size=size, sha256=sha256, note=note
    )
    feed.changed(session, job)


def artifacts(session: Session, job_id: UUID) -> Artifacts:
    jobs.find(session, job_id)
    return Artifacts(items=[Artifact.model_validate(row) for row in repository.artifacts(session, job_id)])


def stored(session: Session, job_id: UUID) -> JobFiles:
    """Everything that the job's attempts have in the store. Raises: NotFound."""
    jobs.find(session, job_id)
    committed = [
        JobCheckpoint(
            attempt=row.attempt,
            number=row.number,
            last=row.number == FINAL_CHECKPOINT,
            created_at=row.created_at,
            version=row.manifest.get("version"),
            samples=row.manifest.get("samples"),
            first_needed=row.manifest.get("first_needed"),
            rests_on=row.manifest.get("rests_on", []),
        )
        for row in repository.checkpoints(session, job_id)
    ]
    return JobFiles(checkpoints=committed, files=[JobFile.model_validate(row) for row in repository.files(session, job_id)])


def find_stored(session: Session, files: FileStore, job_id: UUID, attempt: int, path: str) -> tuple[Found, Path]:
    """Raises: NotFound, also for any path that was not stored."""
    job = jobs.find(session, job_id)
    row = repository.file(session, job_id, attempt, path)
    if row is None:
        raise NotFound(f"Attempt {attempt} of the job has no file '{path}'.", job=str(job_id), path=path)
    return Found(row.path.replace("/", "-"), row.sha256, f"{job.name}-{attempt}"), files.of_attempt(job_id, attempt, path)


def find(session: Session, files: FileStore, job_id: UUID, name: str) -> tuple[Found, Path]:
    job = jobs.find(session, job_id)
    row = repository.artifact(session, job_id, name)
    if row is None:
        raise NotFound(f"The job has no file '{name}' (yet).", job=str(job_id), name=name)
    return Found(row.name, row.sha256, job.name), files.of_job(job_id) / row.path
