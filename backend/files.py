"""The file store: bundles, checkpoints and artifacts in one folder that all replicas see. Postgres says which of them count."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path
from uuid import UUID, uuid4


class FileStore:
    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def bundles(self) -> Path:
        return self.root / "bundles"

    @property
    def incoming(self) -> Path:
        return self.root / "incoming"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    def bundle(self, hash: str) -> Path:
        return self.bundles / f"{hash}.tar.gz"

    def of_attempt(self, job: UUID, attempt: int, path: str) -> Path:
        """`path` must have been checked: it is relative and has no `..`."""
        return self.of_job(job) / str(attempt) / path

    def of_job(self, job: UUID) -> Path:
        return self.jobs / str(job)

    def temporary(self) -> Path:
        """A path for a file that is still being written, on the same file system as all others."""
        self.incoming.mkdir(parents=True, exist_ok=True)
        return self.incoming / uuid4().hex

    def put(self, temporary: Path, target: Path) -> None:
        """Make a written file appear at `target`, whole, also if the machine loses power right after."""
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def of_start(self, job: UUID, name: str) -> Path:
        """A file of the checkpoint that this job starts from."""
        return self.of_job(job) / "start" / name

    def remove_job(self, job: UUID) -> None:
        shutil.rmtree(self.of_job(job), ignore_errors=True)

    def remove_export(self, job: UUID, attempt: int, place: int) -> None:
        shutil.rmtree(self.of_attempt(job, attempt, f"exports/{place}"), ignore_errors=True)

    def remove_checkpoint(self, job: UUID, attempt: int, checkpoint: int, *, but: Collection[str] = ()) -> None:
        """`but`: paths of files that stay."""
        folder = self.of_attempt(job, attempt, f"checkpoints/{checkpoint}")
        if not but:
            shutil.rmtree(folder, ignore_errors=True)
            return
        kept = {self.of_attempt(job, attempt, path) for path in but}
        for file in folder.glob("*"):
            if file not in kept:
                file.unlink(missing_ok=True)
