"""The weights that a job starts from: copied from the other job when it is submitted, so that job may be deleted at any time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.artifacts.models import CheckpointRow
from backend.files import FileStore
from backend.jobs import repository
from backend.jobs.models import JobRow
from gradstream.errors import Invalid, InvalidJob, Mistake, NotFound
from gradstream.process.store import BEST, MODEL, START
from gradstream.spec import JobSpec
from gradstream.spec.start import StartedFrom, StartFrom, StartPoint

_NO_CHECKPOINT = {
    True: "no checkpoint, and takes none any more; name a job that has one",
    False: "no checkpoint yet; its Files list one when it is taken, which `checkpoint.every` of its job file schedules",
}
"""Errors, by whether the other job has ended."""
_NO_LAYOUT = (
    "not stored: the layout of its model in checkpoints. Its first worker stores it when training starts; versions "
    "of Gradstream before that could not. Try again, or take `final` or `best`"
)


@dataclass(frozen=True, slots=True)
class StartSource:
    record: StartedFrom
    files: Mapping[str, Path]
    """Files to copy, by their paths in the new job's folder."""

    @property
    def sentence(self) -> str:
        checksum = f", sha256 {self.record.sha256[:12]}" if self.record.sha256 else ""
        return f"It starts from {self.record.phrase} ({self.record.job}){checksum}."


def find_source(session: Session, files: FileStore, spec: JobSpec) -> StartSource | None:
    """Find the job that this one starts from. None: it starts from the weights that `model()` draws, or from a file of its code.
    Locks the other job until this transaction ends, so that its files are there to be copied. Raises: InvalidJob."""
    start = spec.start_from
    if start is None:
        return None
    if start.job is None:
        if start.leaves_the_folder:
            raise _refused("file", "names a file of your machine; put it into the folder of the code, or name a job")
        return None
    row = _job(session, start.job)
    if row is None:
        raise _refused("job", f"there is no job '{start.job}'; give the id or the name of one that has stored its model")
    if start.checkpoint == "final" or start.checkpoint == "best":
        return _model(session, files, row, start.checkpoint)
    return _weights_of(session, files, row, _checkpoint(session, row, start), start.checkpoint)


def copy_weights(files: FileStore, source: StartSource, job_id: UUID) -> None:
    """Both names are of one file where the file system allows it: a stored file never changes."""
    for path, original in source.files.items():
        target = files.of_job(job_id) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(original, target)
        except OSError:
            shutil.copyfile(original, target)


def _job(session: Session, reference: str) -> JobRow | None:
    try:
        found = repository.get(session, UUID(reference))
    except ValueError:
        found = repository.newest_named(session, reference)
    return found and repository.lock(session, found.id)


def _model(session: Session, files: FileStore, row: JobRow, checkpoint: Literal["final", "best"]) -> StartSource:
    name = BEST if checkpoint == "best" else MODEL
    try:
        found, paths = artifacts.model_files(session, files, row.id, name)
    except NotFound:
        remedy = "it had no `best` in its job file" if name == BEST else "a job stores its model when training ends"
        if artifacts.newest_checkpoint(session, row.id):
            remedy += "; `checkpoint: last` takes its newest checkpoint"
        raise _refused("job", f"{row.name} ({row.id}) is {row.status} and has no {name}; {remedy}") from None
    except Invalid as error:
        raise _refused("job", str(error).removesuffix(".")) from None
    record = StartedFrom(job=row.id, name=row.name, checkpoint=checkpoint, file=found.name, sha256=found.sha256)
    rows = artifacts.trained_rows(session, files, row.id) if name == MODEL else {}
    own = {START: paths[name]} if found.name == name else _start_files(paths)
    return StartSource(record, own | _start_files(rows))


def _checkpoint(session: Session, row: JobRow, start: StartFrom) -> CheckpointRow:
    """The newest one now, or the newest of the number that `start` gives. Raises: InvalidJob."""
    kept = artifacts.kept_checkpoints(session, row.id)
    if not kept:
        raise _refused("job", f"{row.name} ({row.id}) is {row.status} and has {_NO_CHECKPOINT[row.ended_at is not None]}")
    if start.checkpoint == "last":
        return kept[0]
    wanted = (found for found in kept if found.number == start.checkpoint and start.attempt in (None, found.attempt))
    if checkpoint := next(wanted, None):
        return checkpoint
    named = f"checkpoint {start.checkpoint}" + (f" of attempt {start.attempt}" if start.attempt else "")
    listed = ", ".join(f"{found.number} of attempt {found.attempt}" for found in kept)
    raise _refused("checkpoint", f"{row.name} ({row.id}) has no {named}, or has removed it; it keeps {listed}")


def _weights_of(session: Session, files: FileStore, row: JobRow, checkpoint: CheckpointRow, point: StartPoint) -> StartSource:
    """Every attempt of the new job starts from this checkpoint, also when the other job has gone on."""
    paths = artifacts.weights_of_checkpoint(session, files, checkpoint)
    if paths is None:
        raise _refused("job", f"{row.name} ({row.id}) is {row.status} and has {_NO_LAYOUT}")
    record = StartedFrom(
        job=row.id,
        name=row.name,
        checkpoint=point,
        attempt=checkpoint.attempt,
        number=checkpoint.number,
        version=checkpoint.manifest.get("version"),
        samples=checkpoint.manifest.get("samples"),
    )
    return StartSource(record, _start_files(paths))


def _start_files(paths: Mapping[str, Path]) -> dict[str, Path]:
    return {f"start/{name}": path for name, path in paths.items()}


def _refused(key: str, said: str) -> InvalidJob:
    return InvalidJob(f"start_from.{key}: {said}.", [Mistake(f"/spec/start_from/{key}", said)])
