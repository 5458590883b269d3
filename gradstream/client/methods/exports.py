"""Exports of a job for serving: asking for one, and a folder that follows them."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from gradstream.api.history import JobExport
from gradstream.client.connection import ApiConnection, JobReference
from gradstream.errors import Conflict, NotFound
from gradstream.process.saving.exports import MANIFEST, ExportManifest, downloaded_export, downloaded_numbers

_LONG_POLL = 15.0


class Exports(ApiConnection):
    """The methods of `Client` about exports."""

    def exports(self, job: JobReference) -> list[JobExport]:
        """The exports of the job, the newest first. The platform removes those that no newer one rests on."""
        return [JobExport.model_validate(item) for item in self._items(f"jobs/{self._id(job)}/exports")]

    def export(self, job: JobReference, *, base: bool = False, wait: bool = True, timeout: float = 600.0) -> JobExport:
        """Ask the servers of a running job for an export. `wait`: until it is committed. `base`: with all rows; else those that
        changed since the last export, unless a base is due.

        Raises: Conflict: the job is not running, its attempt ended first, or a server could not store its part. TimeoutError: it
        took longer."""
        id, until = self._id(job), time.monotonic() + timeout
        asked = JobExport.model_validate(self._transport.json("POST", f"jobs/{id}/exports", json={"base": base}, safe=False))
        while wait and asked.state == "asked":
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError(
                    f"export {asked.number} is not committed after {timeout:g} s; `gradstream exports` tells its state"
                )
            asked = self._next_state(id, asked.number, min(left, _LONG_POLL))
        if asked.state == "abandoned":
            raise Conflict(f"export {asked.number} is abandoned: its attempt ended, or a later one came first; ask again")
        if asked.state == "failed":
            raise Conflict(
                f"export {asked.number} failed: a server could not store its part. The alert in `gradstream show` says "
                "what to do; then ask again"
            )
        return asked

    def _next_state(self, id: UUID, number: int, wait: float) -> JobExport:
        found = self.job(id)
        asked = self._export(id, number)
        if asked.state == "asked":
            self.job(id, wait=wait, since=found.seq)
        return asked

    def _export(self, id: UUID, number: int) -> JobExport:
        found = next((each for each in self.exports(id) if each.number == number), None)
        if found is None:
            raise NotFound(f"the platform has no export {number} any more")
        return found

    def export_manifest(self, job: JobReference, number: int) -> ExportManifest:
        """The files of a committed export, with their checksums. Raises: NotFound."""
        return ExportManifest.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/exports/{number}"))

    def download_exports(self, job: JobReference, *, into: Path | str) -> list[int]:
        """Bring a folder in step with the job: fetch the newest export and those that it rests on. Each appears whole, by a rename.
        Remove those that the platform has removed. Return the numbers that are new there.

        Raises: NotFound: there is no export yet. Conflict: the folder has exports of another job. Unavailable."""
        id, folder = self._id(job), Path(into)
        kept = {each.number for each in self.exports(id) if each.state == "committed"}
        if not kept:
            raise NotFound("the job has no export yet; `gradstream export JOB` asks for one")
        folder.mkdir(parents=True, exist_ok=True)
        there = set(downloaded_numbers(folder))
        _refuse_another_job(folder, there, id)
        chain = list[ExportManifest]()
        number: int | None = max(kept)
        while number is not None and number not in there:
            chain.insert(0, manifest := self.export_manifest(id, number))
            number = manifest.after
        for manifest in chain:
            self._download_export(id, folder, manifest)
        for old in there - kept:
            shutil.rmtree(downloaded_export(folder, old), ignore_errors=True)
        return [manifest.number for manifest in chain]

    def _download_export(self, id: UUID, folder: Path, manifest: ExportManifest) -> None:
        target = downloaded_export(folder, manifest.number)
        partial = target.with_name(f"{target.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for file in manifest.files:
            path = partial / Path(file.name).name  # never outside of the folder
            if file is manifest.tensors and _link_same(folder, manifest, path):
                continue
            self._fetch(f"jobs/{id}/exports/{manifest.number}/{file.name}", path, file.sha256)
        (partial / MANIFEST).write_text(manifest.model_dump_json(indent=1))
        partial.replace(target)


def _link_same(folder: Path, manifest: ExportManifest, path: Path) -> bool:
    """Take the description of the model's tensors from another export, if it is the same: it has all frozen parameters."""
    for number in downloaded_numbers(folder):
        there = _read_manifest(folder, number)
        if there.tensors == manifest.tensors:
            try:
                os.link(downloaded_export(folder, number) / there.tensors.name, path)
            except OSError:  # the file system has no links
                return False
            return True
    return False


def _refuse_another_job(folder: Path, there: set[int], id: UUID) -> None:
    for number in there:
        if (job := _read_manifest(folder, number).job) != str(id):
            raise Conflict(f"{folder} has exports of job {job}; choose another folder")


def _read_manifest(folder: Path, number: int) -> ExportManifest:
    """Raises: Conflict: it is damaged."""
    file = downloaded_export(folder, number) / MANIFEST
    try:
        return ExportManifest.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise Conflict(f"{file} is missing or damaged; remove that folder, and its export is downloaded anew") from error
