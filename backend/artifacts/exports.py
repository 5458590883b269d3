"""Exports for serving: requests, the files that make one whole, its commit, and the removal of old ones."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import structlog
from redis import Redis
from sqlalchemy.orm import Session

from backend.artifacts import repository
from backend.artifacts.export_reading import describe
from backend.artifacts.models import ExportRow
from backend.artifacts.stored_json import read_export_part
from backend.away import AWAY
from backend.db import after_commit, now
from backend.jobs import feed
from backend.jobs import service as jobs
from backend.jobs.models import JobRow, ProcessRow
from backend.platform import Platform
from backend.users.service import Caller
from gradstream.api.history import JobExport
from gradstream.api.statuses import JobStatus
from gradstream.center.entries import LAST_EXPORT
from gradstream.errors import Conflict, Invalid
from gradstream.events import EventKind
from gradstream.process.order import plane_id
from gradstream.process.saving.checkpoint_names import shard_part
from gradstream.process.saving.exports import (
    PART,
    ExportManifest,
    ExportPart,
    ExportPath,
    check_parts,
    export_folder,
    manifest_parts,
)
from gradstream.process.saving.part_list import ListedFile
from gradstream.process.store import TENSORS
from gradstream.wire import plane

log = structlog.get_logger(__name__)

MAX_DELTAS = 64
"""A reader that begins anew applies all of them."""

FAILURES = 2
"""Exports in a row that were not committed. Then a base follows, which rests on nothing."""


def ask(session: Session, platform: Platform, caller: Caller, job_id: UUID, *, base: bool) -> JobExport:
    """Ask the servers of a running job for an export. Raises: NotFound. Conflict: it does not run."""
    job = jobs.lock(session, job_id)
    if job.status != JobStatus.RUNNING:
        raise Conflict(f"The job is {job.status}; its servers make exports while it is running.", status=job.status)
    row = request(session, platform, job, base=base)
    message = f"{caller.name} asked for export {row.number}."
    feed.record(session, job, EventKind.EXPORT, message, actor=caller.actor, data={"export": row.number})
    return describe(row, job, 0)


def request(session: Session, platform: Platform, job: JobRow, *, base: bool = False) -> ExportRow:
    """Enter an export, and tell the servers after the commit. It is a base if one is due. `job` is locked."""
    there = repository.exports(session, job.id)
    number = there[0].number + 1 if there else 1
    row = ExportRow(job_id=job.id, number=number, attempt=job.attempt, place=number - _numbers_before(there, job, job.attempt))
    session.add(row)
    session.flush()
    session.refresh(row)
    is_base = base or _is_base_due(there, job, now(session))
    committed = next((each.place for each in there if each.attempt == job.attempt and each.manifest), None)
    post = partial(_post, platform.plane, plane_id(job.id, job.attempt), row.place, is_base, committed)
    after_commit(session, ("export", job.id, number), post)
    feed.changed(session, job)
    return row


def _numbers_before(there: list[ExportRow], job: JobRow, attempt: int) -> int:
    """Return what an export's number has more than its place in the log of the attempt: always the same within an attempt, so the
    order of numbers is that of the log. Servers that make exports of passes without a request count from 1 in each attempt.
    `there`: the newest first."""
    if not _makes_exports_of_passes(job):
        return 0
    mine = next((row for row in there if row.attempt == attempt and row.place != LAST_EXPORT), None)
    if mine:
        return mine.number - mine.place
    return there[0].number if there else 0


def _makes_exports_of_passes(job: JobRow) -> bool:
    export = jobs.spec_of(job).export
    return bool(export and export.passes)


def _post(redis: Redis, j: str, place: int, base: bool, committed: int | None) -> None:
    """`committed`: the place of the newest one, in case the servers have not heard of its commit."""
    try:
        if committed is not None:
            plane.control_committed(redis, j, committed, "export")
        plane.control_export(redis, j, place, base=base)
    except AWAY as error:
        log.warning("an export could not be asked for; ask again", plane=j, place=place, error=str(error))


def _is_base_due(there: list[ExportRow], job: JobRow, moment: datetime) -> bool:
    """Return whether the next export should have all rows. `there`: the newest first."""
    chain, mine = list[ExportManifest](), [row for row in there if row.attempt == job.attempt]
    if len(mine) >= FAILURES and not any(row.manifest for row in mine[:FAILURES]):
        return True
    for row in mine:
        if row.manifest is None:
            continue
        chain.append(manifest := ExportManifest.model_validate(row.manifest))
        if manifest.after is None:
            *deltas, base = chain
            every = spec.base_cadence.seconds if (spec := jobs.spec_of(job).export) else None
            is_old = every is not None and row.committed_at is not None and moment - row.committed_at >= timedelta(seconds=every)
            return is_old or len(deltas) >= MAX_DELTAS or sum(each.row_bytes for each in deltas) > base.row_bytes / 2
    return True


def newest(session: Session, job: JobRow) -> ExportRow | None:
    """Return the export that was asked for last in the job's attempt."""
    return next((row for row in repository.exports(session, job.id) if row.attempt == job.attempt), None)


# ---- files and commit ---------------------------------------------------------------------------------------------------------


def require_open(session: Session, job: JobRow, attempt: int, at: ExportPath, path: str, sha256: str) -> None:
    """The files of a committed export stay as they are. Raises: Conflict."""
    there = repository.file(session, job.id, attempt, path)
    if _is_committed(session, job, attempt, at.place) and not (there and there.sha256 == sha256):
        raise Conflict(f"Export {at.place} is committed; its files do not change any more.", path=path)


def check_part(session: Session, job: JobRow, attempt: int, at: ExportPath, received: Path) -> None:
    """Compare a server's part with the files that are stored. Raises: Invalid."""
    part = read_export_part(received, at.part, jobs.spec_of(job))
    if lacking := _lacking(session, job, attempt, at.place, [part]):
        raise Invalid(f"The part names {lacking}, which is not stored with this size and checksum. Store it behind its files.")


def commit_complete(session: Session, platform: Platform, job: JobRow, process: ProcessRow, path: str) -> None:
    """Commit the export that a stored file completes. The record of the model's tensors may complete several."""
    at = ExportPath.parse(path)
    if at and at.suffix == PART:
        _commit_if_complete(session, platform, job, process, at.place)
    elif path == TENSORS:
        stored = (ExportPath.parse(row.path) for row in repository.files(session, job.id) if row.attempt == process.attempt)
        places = {each.place for each in stored if each}
        for place in sorted(places - {LAST_EXPORT}) + sorted(places & {LAST_EXPORT}):
            _commit_if_complete(session, platform, job, process, place)


def _commit_if_complete(session: Session, platform: Platform, job: JobRow, process: ProcessRow, place: int) -> None:
    attempt, spec = process.attempt, jobs.spec_of(job)
    tensors = repository.file(session, job.id, attempt, TENSORS)
    paths = [f"{export_folder(place)}{shard_part(k)}{PART}" for k in range(spec.shards)]
    if tensors is None or _is_committed(session, job, attempt, place):
        return
    if not all(repository.file(session, job.id, attempt, path) for path in paths):
        return
    files = [platform.files.of_attempt(job.id, attempt, path) for path in paths]
    parts = [read_export_part(file, shard_part(k), spec) for k, file in enumerate(files)]
    if _lacking(session, job, attempt, place, parts):
        return
    listed = ListedFile(name=TENSORS, size=tensors.size, sha256=tensors.sha256)
    _commit(session, platform, job, process, place, parts, listed)


def _commit(
    session: Session, platform: Platform, job: JobRow, process: ProcessRow, place: int, parts: list[ExportPart], tensors: ListedFile
) -> None:
    there, attempt = repository.exports(session, job.id), process.attempt
    numbers = {row.place: row.number for row in there if row.attempt == attempt}
    row = next((row for row in there if (row.attempt, row.place) == (attempt, place)), None)
    after = check_parts(parts)
    if after is not None and after not in numbers:
        raise Invalid(f"Export {place} rests on export {after}, which is no longer stored; the next one is a base.")
    if row is None:
        if place != LAST_EXPORT and not _makes_exports_of_passes(job):
            raise Invalid(f"Export {place} was not asked for.")
        number = place + _numbers_before(there, job, attempt) if place != LAST_EXPORT else (there[0].number if there else 0) + 1
        row = ExportRow(job_id=job.id, number=number, attempt=attempt, place=place)
        session.add(row)
    moment = now(session)
    manifest = ExportManifest(
        job=str(job.id),
        number=row.number,
        after=None if after is None else numbers[after],
        attempt=attempt,
        made_at=moment,
        exported=parts[0].exported,
        rows=sum(part.rows for part in parts),
        gone=sum(part.gone for part in parts),
        parts=manifest_parts(parts),
        tensors=tensors,
    )
    row.manifest, row.committed_at = manifest.model_dump(mode="json"), moment
    session.flush()
    kind = "a base" if manifest.after is None else f"a delta on export {manifest.after}"
    message = f"export {row.number} is committed: {kind}, version {manifest.exported.version:,}, {manifest.rows:,} rows."
    feed.record(session, job, EventKind.EXPORT, message, actor=process.label, data={"export": row.number, "attempt": attempt})
    feed.changed(session, job)
    if place != LAST_EXPORT:
        base_due = _is_base_due(repository.exports(session, job.id), job, moment)
        tell = partial(_tell_servers, platform.plane, plane_id(job.id, attempt), place, base_due)
        after_commit(session, ("exported", job.id, attempt, place), tell)
    _forget_old(session, platform, job)


def _tell_servers(redis: Redis, j: str, place: int, base_due: bool) -> None:
    try:
        plane.control_committed(redis, j, place, "export", base_due=base_due)
    except AWAY as error:
        log.warning(
            "the servers do not hear that an export is committed; the next rests on an earlier one", plane=j, error=str(error)
        )


def _is_committed(session: Session, job: JobRow, attempt: int, place: int) -> bool:
    rows = repository.exports(session, job.id)
    return any((row.attempt, row.place) == (attempt, place) and row.manifest is not None for row in rows)


def _lacking(session: Session, job: JobRow, attempt: int, place: int, parts: list[ExportPart]) -> str | None:
    """Return a file of the parts that is not stored as they say; None: all are."""
    for file in (file for part in parts for file in part.files):
        row = repository.file(session, job.id, attempt, path := export_folder(place) + file.name)
        if row is None or (row.size, row.sha256) != (file.size, file.sha256):
            return path
    return None


def _forget_old(session: Session, platform: Platform, job: JobRow) -> None:
    """Keep the exports since one of the newest bases, and each that these rest on. Files of an older one, and of one that a later
    one has overtaken, go."""
    rows = repository.exports(session, job.id)
    manifests = {row.number: ExportManifest.model_validate(row.manifest) for row in rows if row.manifest}
    kept = set(sorted(manifests, reverse=True)[: _count_kept(manifests, platform.settings.export_chains_kept)])
    for number in sorted(kept, reverse=True):
        while (after := manifests[number].after) is not None and after not in kept:
            kept.add(number := after)
    newest = next(row for row in rows if row.number == max(kept))
    for row in rows:
        if row.number not in kept and row.number < newest.number:
            _remove_files(session, platform, job, row.attempt, row.place)
            if row.number < min(kept):
                session.delete(row)
    if newest.place != LAST_EXPORT:
        stored = (ExportPath.parse(file.path) for file in repository.files(session, job.id) if file.attempt == newest.attempt)
        places = {each.place for each in stored if each} - {row.place for row in rows if row.attempt == newest.attempt}
        for place in places - {LAST_EXPORT}:
            if place < newest.place:  # of a pass, and given up
                _remove_files(session, platform, job, newest.attempt, place)


def _remove_files(session: Session, platform: Platform, job: JobRow, attempt: int, place: int) -> None:
    repository.remove_folder(session, job.id, attempt, export_folder(place))
    remove = partial(platform.files.remove_export, job.id, attempt, place)
    after_commit(session, ("export files", job.id, attempt, place), remove)


def _count_kept(manifests: dict[int, ExportManifest], chains: int) -> int:
    """Return the number of the newest exports that have so many bases among them."""
    bases = 0
    for count, number in enumerate(sorted(manifests, reverse=True), 1):
        bases += manifests[number].after is None
        if bases == chains:
            return count
    return len(manifests)
