"""The weights that a job begins from: copied from the other job when it is submitted, so that job may be deleted at any time."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.files import FileStore
from backend.jobs import repository
from backend.jobs.models import JobRow
from gradstream.errors import InvalidJob, NotFound, Problem
from gradstream.process.store import BEST, MODEL, START
from gradstream.spec import JobSpec


@dataclass(frozen=True, slots=True)
class Source:
    job: JobRow
    name: str
    sha256: str
    path: Path

    @property
    def sentence(self) -> str:
        return f"It starts from {self.name} of {self.job.name} ({self.job.id}), sha256 {self.sha256[:12]}."


def find_source(session: Session, files: FileStore, spec: JobSpec) -> Source | None:
    """None: it begins from what `model()` draws, or from a file of its code. Raises: InvalidJob."""
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
    name = BEST if start.checkpoint == "best" else MODEL
    try:
        found, path = artifacts.find(session, files, row.id, name)
    except NotFound:
        remedy = "it had no `best` in its job file" if name == BEST else "a job stores its model when training ends"
        raise _refused("job", f"{row.name} ({row.id}) is {row.status} and has no {name}; {remedy}") from None
    return Source(row, name, found.sha256, path)


def copy_weights(files: FileStore, source: Source, job_id: UUID) -> None:
    """Both names are of one file where the file system allows it: a stored file never changes."""
    target = start_file(files, job_id)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.path, target)
    except OSError:
        shutil.copyfile(source.path, target)


def start_file(files: FileStore, job_id: UUID) -> Path:
    return files.of_job(job_id) / START


def _job(session: Session, reference: str) -> JobRow | None:
    try:
        return repository.get(session, UUID(reference))
    except ValueError:
        return repository.newest_named(session, reference)


def _refused(key: str, said: str) -> InvalidJob:
    return InvalidJob(f"start_from.{key}: {said}.", [Problem(f"/spec/start_from/{key}", said)])
