"""Bundles of user code: checked, stored, and looked at before a job may use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from backend.bundles import code, reading, repository
from backend.bundles.models import BundleRow
from backend.bundles.schemas import BundledFile, BundledText, BundledWorkload, FileDifferences, StoredBundle
from backend.db import wait_for_lock
from backend.files import FileStore
from backend.platform import Platform
from backend.settings import BackendSettings
from backend.users.service import Caller
from backend.web.uploads import Upload
from gradstream import bundle as bundles
from gradstream.errors import InvalidJob, Mistake, NotFound
from gradstream.spec import JobSpec
from gradstream.workload_source import CodeFindings, CodeText, check_workload


def store(session: Session, files: FileStore, caller: Caller, upload: Upload) -> StoredBundle:
    """Raises: InvalidBundle, with what must not be unpacked."""
    inspected = bundles.inspect(upload.path.read_bytes())
    _lock_file(session, inspected.hash)
    files.put(upload.path, files.bundle(inspected.hash))
    return _enter(session, files, inspected, caller)


def store_bytes(session: Session, files: FileStore, caller: Caller, packed: bundles.Bundle) -> StoredBundle:
    """Store a bundle that this program has packed itself."""
    _lock_file(session, packed.hash)
    if not files.bundle(packed.hash).exists():
        temporary = files.temporary()
        temporary.write_bytes(packed.data)
        files.put(temporary, files.bundle(packed.hash))
    return _enter(session, files, packed, caller)


def _lock_file(session: Session, hash: str) -> None:
    """Lock the bundle's file: no other transaction writes or removes it until this one ends."""
    wait_for_lock(session, f"bundle {hash}")


def existing(session: Session, hashes: Sequence[str]) -> set[str]:
    """Return the hashes of those bundles that are here."""
    return repository.existing(session, hashes)


def unused(session: Session, settings: BackendSettings) -> dict[str, int]:
    """Hash and bytes of each bundle that may be removed: no job names it, and it was not used lately, or they take too much."""
    return repository.unused(session, settings.unused_bundles_kept, settings.unused_bundles_bytes, _spared_for(settings))


def remove_unused(platform: Platform, hash: str) -> bool:
    """Remove a bundle, or a bundle's file without a row, unless it is used again meanwhile; return whether it is gone.

    The row goes first. A submission that names the bundle either locked the row before, and keeps it, or finds none. The file
    goes in a second transaction: an upload of the same bytes has entered the row anew by then, or writes the file anew afterwards.
    If the program dies in between, the next collection finds a file without a row."""
    with platform.database.transaction() as session:
        repository.remove_unused(session, hash, _spared_for(platform.settings))
    with platform.database.transaction() as session:
        _lock_file(session, hash)
        if repository.existing(session, [hash]):
            return False
        platform.files.bundle(hash).unlink(missing_ok=True)
        return True


def _spared_for(settings: BackendSettings) -> timedelta:
    """Return how long a bundle is spared after its last use: a user who has just sent it, or asked for it, submits it next."""
    return min(settings.strays_kept, settings.unused_bundles_kept)


def _enter(session: Session, files: FileStore, packed: bundles.Bundle, caller: Caller) -> StoredBundle:
    listed = [_listed(file) for file in packed.files]
    repository.enter(session, hash=packed.hash, size=len(packed.data), files=listed, user_id=caller.user_id)
    return _view(files, packed.hash, len(packed.data), listed)


def _listed(file: bundles.ArchivedFile) -> dict[str, Any]:
    return {"path": file.path, "size": file.size, **({"warning": file.warning} if file.warning else {})}


def show(session: Session, files: FileStore, hash: str) -> StoredBundle:
    row = _find(session, hash)
    return _view(files, hash, row.size, row.files)


def _view(files: FileStore, hash: str, size: int, listed: list[dict[str, Any]]) -> StoredBundle:
    found = code.workloads(code.read(files.bundle(hash)))
    return StoredBundle(hash=hash, size=size, files=[BundledFile(**file) for file in listed], workloads=found)


def read_text(session: Session, files: FileStore, hash: str, path: str) -> BundledText:
    """Raises: NotFound."""
    return reading.read_text(archive(session, files, hash), path)


def differences(session: Session, files: FileStore, before: str, after: str) -> FileDifferences:
    """Raises: NotFound."""
    old, new = (archive(session, files, hash) for hash in (before, after))
    return FileDifferences(items=reading.differences(old, new))


def archive(session: Session, files: FileStore, hash: str) -> Path:
    _find(session, hash)
    return files.bundle(hash)


def _find(session: Session, hash: str) -> BundleRow:
    row = repository.use(session, hash)
    if row is None:
        raise NotFound(f"There is no bundle {hash[:12]}...; upload it first.", bundle=hash)
    return row


def code_of(session: Session, files: FileStore, hash: str) -> CodeText | None:
    """The text of a bundle; None: it is not here."""
    return code.read(files.bundle(hash)) if repository.use(session, hash) is not None else None


def workloads(text: CodeText) -> list[BundledWorkload]:
    """Classes that a job of this code may name."""
    return code.workloads(text)


def argument_defaults(files: FileStore, hash: str | None, entrypoint: str) -> Mapping[str, Any]:
    """The literal defaults of a workload's arguments, by name. Empty without the code, and where its text does not say."""
    if hash is None:
        return {}
    try:
        return code.argument_defaults(files.bundle(hash), entrypoint)
    except FileNotFoundError:
        return {}


def require(session: Session, files: FileStore, hash: str | None, spec: JobSpec) -> CodeFindings:
    """Return what the text of the code says about the job. Raises: InvalidJob: no code, or the job would fail at its start."""
    if hash is None:
        message = "missing: upload the folder with your code as a bundle, and give its hash here"
        raise InvalidJob("The job names no code.", [Mistake("/bundle", message)])
    text = code_of(session, files, hash)
    if text is None:
        raise InvalidJob("The job's code is not on the platform.", [Mistake("/bundle", "no such bundle; upload it first")])
    found = check_workload(text, spec)
    if found.errors:
        raise InvalidJob(
            "The job file does not match its code.", [Mistake(f"/spec{each.pointer}", each.message) for each in found.errors]
        )
    return found
