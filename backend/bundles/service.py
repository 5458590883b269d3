"""Bundles of user code: checked, stored, and looked at before a job may use them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from backend.bundles import code, repository
from backend.bundles.models import BundleRow
from backend.bundles.schemas import Bundle, BundledFile, BundledWorkload
from backend.files import FileStore
from backend.uploads import Upload
from backend.users.service import Caller
from gradstream import bundle as bundles
from gradstream.errors import InvalidJob, NotFound, Problem
from gradstream.spec import JobSpec
from gradstream.workload_source import CodeFindings, CodeText, check_workload

_READING = threading.BoundedSemaphore(2)
"""Uploads that are in memory at a time: each has up to 64 MiB, and is read for up to a second."""


def store(session: Session, files: FileStore, caller: Caller, upload: Upload) -> Bundle:
    """Raises: InvalidBundle, with what must not be unpacked."""
    with _READING:
        inspected = bundles.inspect(upload.path.read_bytes())
    files.put(upload.path, files.bundle(inspected.hash))
    return _enter(session, files, inspected, caller)


def store_bytes(session: Session, files: FileStore, caller: Caller, packed: bundles.Bundle) -> Bundle:
    """A bundle that this program has packed itself."""
    if not files.bundle(packed.hash).exists():
        temporary = files.temporary()
        temporary.write_bytes(packed.data)
        files.put(temporary, files.bundle(packed.hash))
    return _enter(session, files, packed, caller)


def _enter(session: Session, files: FileStore, packed: bundles.Bundle, caller: Caller) -> Bundle:
    listed = [_listed(file) for file in packed.files]
    repository.enter(session, hash=packed.hash, size=len(packed.data), files=listed, user_id=caller.user_id)
    return _view(files, packed.hash, len(packed.data), listed)


def _listed(file: bundles.BundledFile) -> dict[str, Any]:
    return {"path": file.path, "size": file.size, **({"warning": file.warning} if file.warning else {})}


def show(session: Session, files: FileStore, hash: str) -> Bundle:
    row = _find(session, hash)
    return _view(files, hash, row.size, row.files)


def _view(files: FileStore, hash: str, size: int, listed: list[dict[str, Any]]) -> Bundle:
    found = code.workloads(code.read(files.bundle(hash)))
    return Bundle(hash=hash, size=size, files=[BundledFile(**file) for file in listed], workloads=found)


def archive(session: Session, files: FileStore, hash: str) -> Path:
    _find(session, hash)
    return files.bundle(hash)


def _find(session: Session, hash: str) -> BundleRow:
    row = repository.get(session, hash)
    if row is None:
        raise NotFound(f"There is no bundle {hash[:12]}...; upload it first.", bundle=hash)
    return row


def code_of(session: Session, files: FileStore, hash: str) -> CodeText | None:
    """The text of a bundle; None: it is not here."""
    return code.read(files.bundle(hash)) if repository.get(session, hash) is not None else None


def workloads(text: CodeText) -> list[BundledWorkload]:
    """Classes that a job of this code may name."""
    return code.workloads(text)


def argument_defaults(files: FileStore, hash: str | None, entrypoint: str) -> Mapping[str, Any]:
    """The literal defaults of a workload's arguments, by name. Empty without the code, and where its text does not say."""
    if hash is None or not (stored := files.bundle(hash)).exists():
        return {}
    return code.argument_defaults(stored, entrypoint)


def require(session: Session, files: FileStore, hash: str | None, spec: JobSpec) -> CodeFindings:
    """Return what the text of the code says about the job. Raises: InvalidJob: no code, or the job would fail at its start."""
    if hash is None:
        message = "missing: upload the folder with your code as a bundle, and give its hash here"
        raise InvalidJob("The job has no code.", [Problem("/bundle", message)])
    text = code_of(session, files, hash)
    if text is None:
        raise InvalidJob("The code of the job is not here.", [Problem("/bundle", "no such bundle; upload it first")])
    found = check_workload(text, spec)
    if found.errors:
        raise InvalidJob("The job does not fit its code.", [Problem(f"/spec{each.pointer}", each.message) for each in found.errors])
    return found
