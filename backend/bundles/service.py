"""Bundles of user code: checked, stored, and looked at before a job may use them."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from backend.bundles import repository
from backend.bundles.models import BundleRow
from backend.bundles.schemas import Bundle, BundledFile
from backend.files import FileStore
from backend.uploads import Upload
from backend.users.service import Caller
from gradstream import bundle as bundles
from gradstream.errors import InvalidJob, NotFound, Problem


def store(session: Session, files: FileStore, caller: Caller, upload: Upload) -> Bundle:
    """Raises: InvalidBundle, with what must not be unpacked."""
    inspected = bundles.inspect(upload.path.read_bytes())
    files.put(upload.path, files.bundle(inspected.hash))
    return _enter(session, inspected, caller)


def store_bytes(session: Session, files: FileStore, caller: Caller, packed: bundles.Bundle) -> Bundle:
    """A bundle that this program has packed itself."""
    if not files.bundle(packed.hash).exists():
        temporary = files.temporary()
        temporary.write_bytes(packed.data)
        files.put(temporary, files.bundle(packed.hash))
    return _enter(session, packed, caller)


def _enter(session: Session, packed: bundles.Bundle, caller: Caller) -> Bundle:
    listed = [{"path": file.path, "size": file.size} for file in packed.files]
    repository.enter(session, hash=packed.hash, size=len(packed.data), files=listed, user_id=caller.user_id)
    return Bundle(hash=packed.hash, size=len(packed.data), files=[BundledFile(**file) for file in listed])


def show(session: Session, hash: str) -> Bundle:
    return Bundle.model_validate(_find(session, hash))


def archive(session: Session, files: FileStore, hash: str) -> Path:
    _find(session, hash)
    return files.bundle(hash)


def _find(session: Session, hash: str) -> BundleRow:
    row = repository.get(session, hash)
    if row is None:
        raise NotFound(f"There is no bundle {hash[:12]}...; upload it first.", bundle=hash)
    return row


def require(session: Session, hash: str | None, entrypoint: str) -> None:
    """Raises: InvalidJob, unless the bundle is there and has the entrypoint's module."""
    if hash is None:
        message = "missing: workers need user code; upload a bundle and give its hash"
        raise InvalidJob("The job names no bundle of user code.", [Problem("/bundle", message)])
    row = repository.get(session, hash)
    if row is None:
        raise InvalidJob("The bundle of user code is not here.", [Problem("/bundle", "no such bundle; upload it first")])
    listed = tuple(bundles.BundledFile(**file) for file in row.files)
    if not bundles.Bundle(b"", hash, listed).holds(entrypoint):
        module = entrypoint.partition(":")[0]
        message = f"the bundle has no module '{module}'; its files: {', '.join(file.path for file in listed[:10])}"
        raise InvalidJob("The bundle lacks the entrypoint.", [Problem("/spec/workload/entrypoint", message)])
