"""Checkpoints: the files that make one whole, its commit, the files to resume from, and the removal of old ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from redis import Redis
from sqlalchemy.orm import Session

from backend.artifacts import repository
from backend.artifacts.models import CheckpointRow
from backend.artifacts.stored_json import Manifest, check_part_list, read_manifest
from backend.away import AWAY
from backend.db import after_commit
from backend.files import FileStore
from backend.jobs import feed, lifecycle
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import JobRow, ProcessRow
from backend.platform import Platform
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.errors import Conflict, Invalid, NotFound, NotSignedIn
from gradstream.events import EventKind
from gradstream.process.order import Resume, plane_id
from gradstream.process.saving.checkpoint_names import (
    LIST,
    MANIFEST,
    STATE,
    STATE_SUFFIXES,
    CheckpointPath,
    folder_of,
    numbers_with,
    shard_part,
)
from gradstream.process.saving.part_list import PartList
from gradstream.process.saving.resumed import ResumedFile
from gradstream.spec import JobSpec
from gradstream.wire import plane

log = structlog.get_logger(__name__)

MAX_RESTED = 16_384
"""Files of earlier checkpoints that one may rest on, of all its parts."""
_Place = tuple[int, str]
"""Attempt, and path there."""


def require_open(session: Session, job: JobRow, attempt: int, at: CheckpointPath, path: str, sha256: str) -> None:
    """The files of a committed checkpoint stay as they are. A state without further files may be replaced: after a process that
    died, the next one saves anew. Raises: Conflict."""
    if repository.checkpoint(session, job.id, attempt, at.number) is None:
        return
    there = repository.file(session, job.id, attempt, path)
    is_repeat = there is not None and there.sha256 == sha256
    lists = repository.file(session, job.id, attempt, f"{folder_of(at.number)}{at.part}{LIST}")
    if not is_repeat and (at.suffix != STATE or lists):
        raise Conflict(f"Checkpoint {at.number} is committed; its files do not change any more.", path=path)


def check_list(session: Session, job: JobRow, attempt: int, at: CheckpointPath, received: Path) -> None:
    """Compare a part's list with the files that are stored. Raises: Invalid."""
    listed = check_part_list(received, str(at.part))
    kept = repository.checkpoints(session, job.id)
    committed, rested = {(row.attempt, row.number) for row in kept}, _rested_on(kept)
    for file in listed.rests_on:
        place = _place_of(ResumedFile.earlier(file))
        if place not in rested and (file.attempt, file.checkpoint) not in committed:
            raise Invalid(f"'{file.name}' is of checkpoint {file.checkpoint} of attempt {file.attempt}, which is not committed.")
    if lacking := _lacking(session, job.id, attempt, at.number, listed):
        raise Invalid(f"The list names {lacking}, which is not stored with this size and checksum. Store a list behind its files.")


def commit_if_complete(session: Session, platform: Platform, job: JobRow, process: ProcessRow, number: int) -> int | None:
    """Commit a checkpoint if its files are complete; return its number. Without this row a checkpoint does not exist."""
    attempt, folder = process.attempt, folder_of(number)
    there = repository.paths_below(session, job.id, attempt, folder)
    if MANIFEST not in there or repository.checkpoint(session, job.id, attempt, number):
        return None
    manifest = read_manifest(platform.files.of_attempt(job.id, attempt, folder + MANIFEST), jobs.spec_of(job))
    if not {part + STATE for part in manifest.parts} <= there:
        return None
    lists = [_list_of(platform.files, job.id, attempt, number, part) for part in sorted(manifest.parts) if part + LIST in there]
    if any(_lacking(session, job.id, attempt, number, listed) for listed in lists):
        return None
    _commit(session, platform, job, process, manifest, number, lists)
    return number


def _commit(
    session: Session, platform: Platform, job: JobRow, process: ProcessRow, manifest: Manifest, number: int, lists: list[PartList]
) -> None:
    left_out = {"positions", "offsets"} | (set() if manifest.away else {"away"})
    attempt, described = process.attempt, manifest.model_dump(mode="json", exclude=left_out)
    rests_on = [ResumedFile.earlier(file) for listed in lists for file in listed.rests_on]
    if len(rests_on) > MAX_RESTED:
        raise Invalid(f"Checkpoint {number} rests on {len(rests_on):,} files of earlier ones; {MAX_RESTED:,} are allowed.")
    if rests_on:
        described["rests_on"] = [{"attempt": file.attempt, "path": file.path} for file in rests_on]
    needed = {"first_needed": _first_needed(manifest, jobs.spec_of(job))} if manifest.positions else {}
    described |= needed
    row = CheckpointRow(job_id=job.id, attempt=attempt, number=number, manifest=described)
    session.add(row)
    session.flush()
    lifecycle.current_attempt(session, job).checkpoint = number
    name = "the last checkpoint" if number == FINAL_CHECKPOINT else f"checkpoint {number}"
    data: dict[str, Any] = {"attempt": attempt, "checkpoint": number, "version": manifest.version, "samples": manifest.samples}
    data |= needed
    feed.record(session, job, EventKind.CHECKPOINT, f"{name} of attempt {attempt} is committed.", actor=process.label, data=data)
    if lists or number != FINAL_CHECKPOINT:
        tell = partial(_tell_servers, platform.plane, plane_id(job.id, attempt), number)
        after_commit(session, ("committed", job.id, attempt, number), tell)
    _forget_old(session, platform, job, row)


def _first_needed(manifest: Manifest, spec: JobSpec) -> int | dict[str, int]:
    """The first example that a job which resumes from here reads: its number, or its offset in each partition. Without the offsets
    of all workers it may be any."""
    if not any(manifest.offsets.values()):
        return min(manifest.positions.values()) * spec.batch_size * spec.roles.worker.count
    of_workers = zip(*(manifest.offsets.get(rank, []) for rank in manifest.positions), strict=False)
    return {str(partition): min(offsets) for partition, offsets in enumerate(of_workers)}


def _tell_servers(redis: Redis, j: str, number: int) -> None:
    try:
        plane.control_committed(redis, j, number)
    except AWAY as error:
        log.warning(
            "the servers do not hear that a checkpoint is committed; the next may be late, or rest on an earlier one",
            plane=j,
            error=str(error),
        )


def _list_of(files: FileStore, job_id: UUID, attempt: int, number: int, part: str) -> PartList:
    return check_part_list(files.of_attempt(job_id, attempt, f"{folder_of(number)}{part}{LIST}"), part)


def _lacking(session: Session, job_id: UUID, attempt: int, number: int, listed: PartList) -> str | None:
    """Return a file of the list that is not stored as the list says; None: all are."""
    own = {(attempt, folder_of(number) + file.name): file for file in listed.files}
    wanted = own | {_place_of(ResumedFile.earlier(file)): file for file in listed.rests_on}
    there = {(row.attempt, row.path): (row.size, row.sha256) for row in repository.files(session, job_id)} if wanted else {}
    return next((path for (of, path), file in wanted.items() if there.get((of, path)) != (file.size, file.sha256)), None)


def _place_of(file: ResumedFile) -> _Place:
    return file.attempt, file.path


def rested_on(manifest: dict[str, object]) -> set[_Place]:
    """Return the files of earlier checkpoints that a committed one needs."""
    listed = manifest.get("rests_on", [])
    assert isinstance(listed, list)
    return {(file["attempt"], file["path"]) for file in listed}


def _rested_on(rows: list[CheckpointRow]) -> set[_Place]:
    return {place for row in rows for place in rested_on(row.manifest)}


def _forget_old(session: Session, platform: Platform, job: JobRow, newest: CheckpointRow) -> None:
    """Keep the newest few checkpoints, and the one that the live attempt resumes from: a respawned process may still ask for it.
    Keep also those that may still be committed, a last one, where finished ranks have left their state, and each file that a kept
    checkpoint rests on."""
    attempt = job_rows.attempt(session, job.id, job.attempt)
    resumed = attempt and attempt.resumed_from
    rows = repository.checkpoints(session, job.id)
    newer = rows[: platform.settings.checkpoints_kept]
    kept = newer + [row for row in rows[len(newer) :] if resumed == Resume(attempt=row.attempt, checkpoint=row.number)]
    needed = _rested_on(kept)
    begun = {place: paths for place, paths in _begun(session, job).items() if not paths <= needed}
    given_up = {each for each in begun if _is_passed(each, newest)}.difference((row.attempt, row.number) for row in rows)
    old = [(row.attempt, row.number) for row in rows if row not in kept]
    for number_of_attempt, number in [*old, *sorted(given_up)]:
        paths = {path for of, path in needed if of == number_of_attempt and path.startswith(folder_of(number))}
        repository.remove_checkpoint(session, job.id, number_of_attempt, number, but=paths)
        remove = partial(platform.files.remove_checkpoint, job.id, number_of_attempt, number, but=paths)
        after_commit(session, ("checkpoint", job.id, number_of_attempt, number), remove)


def _begun(session: Session, job: JobRow) -> dict[tuple[int, int], set[_Place]]:
    """Return attempt and number of each checkpoint that has a stored file, with its files."""
    found: dict[tuple[int, int], set[_Place]] = {}
    for row in repository.files(session, job.id):
        if at := CheckpointPath.parse(row.path):
            found.setdefault((row.attempt, at.number), set()).add((row.attempt, row.path))
    return found


def _is_passed(begun: tuple[int, int], newest: CheckpointRow) -> bool:
    attempt, number = begun
    if number == FINAL_CHECKPOINT:
        return False
    return attempt < newest.attempt or (attempt == newest.attempt and (newest.number == FINAL_CHECKPOINT or number < newest.number))


def resume_files(session: Session, files: FileStore, process_id: UUID, part: str) -> list[ResumedFile]:
    """Find the files of a part in the checkpoint that the attempt resumes from, its state first. A rank that was done before it has
    left its state with the attempt's last checkpoint, which is searched second. Empty: there are none."""
    process, resumed = _resumed(session, process_id)
    if resumed is None:
        return []
    row = repository.checkpoint(session, process.job_id, resumed.attempt, resumed.checkpoint)
    for number in numbers_with(part, resumed.checkpoint, row.manifest.get("away", []) if row else []):
        folder = folder_of(number)
        there = {row.path: row for row in repository.files(session, process.job_id) if row.attempt == resumed.attempt}
        state = find_state(set(there), folder + part)
        if state is None:
            continue
        has_list = f"{folder}{part}{LIST}" in there
        listed = _list_of(files, process.job_id, resumed.attempt, number, part) if has_list else PartList()
        own = [there[path] for path in (state, *(folder + file.name for file in listed.files))]
        found = [ResumedFile(attempt=row.attempt, path=row.path, sha256=row.sha256) for row in own]
        return found + [ResumedFile.earlier(file) for file in listed.rests_on]
    return []


def find_resume_file(session: Session, files: FileStore, process_id: UUID, attempt: int, path: str) -> Path:
    """Find a file of a checkpoint of the process's own job. Raises: NotFound."""
    process, resumed = _resumed(session, process_id)
    if resumed is None or CheckpointPath.parse(path) is None or not repository.file(session, process.job_id, attempt, path):
        raise NotFound(f"There is no file {path} of attempt {attempt} to resume from.", path=path)
    return files.of_attempt(process.job_id, attempt, path)


def _resumed(session: Session, process_id: UUID) -> tuple[ProcessRow, Resume | None]:
    process = job_rows.process(session, process_id)
    if process is None:
        raise NotSignedIn("This process is not known any more.")
    attempt = job_rows.attempt(session, process.job_id, process.attempt)
    return process, attempt.resumed_from if attempt else None


def find_state(paths: set[str], part: str) -> str | None:
    """Return the path of a part's state, under its name of now or of earlier versions."""
    return next((part + suffix for suffix in STATE_SUFFIXES if part + suffix in paths), None)


def shard_states(session: Session, row: CheckpointRow) -> list[str]:
    """Return the path of each shard's state in a committed checkpoint."""
    there = {file.path for file in repository.files(session, row.job_id) if file.attempt == row.attempt}
    parts = [folder_of(row.number) + shard_part(k) for k in range(row.manifest["servers"])]
    return [state for part in parts if (state := find_state(there, part))]


def row_files(session: Session, files: FileStore, row: CheckpointRow) -> dict[str, Path]:
    """Return the files with rows of embedding tables that a committed checkpoint needs, and their lists. Their names are those that
    they have for a job which starts from it."""
    there = {file.path for file in repository.files(session, row.job_id) if file.attempt == row.attempt}
    found: dict[str, Path] = {}
    for part in (shard_part(k) for k in range(row.manifest["servers"])):
        path = f"{folder_of(row.number)}{part}{LIST}"
        if path in there:
            listed = _list_of(files, row.job_id, row.attempt, row.number, part)
            own = [(row.attempt, folder_of(row.number) + file.name) for file in listed.files]
            places = [_place_of(ResumedFile.earlier(file)) for file in listed.rests_on] + own
            named = zip([part + LIST, *listed.start_names], [(row.attempt, path), *places], strict=True)
            found |= {name: files.of_attempt(row.job_id, *place) for name, place in named}
    return found
