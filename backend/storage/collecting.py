"""Garbage collection of stored files and rows. A death in between, or two collections at once, leave nothing wrong: each thing is
looked at and removed by itself.

It never removes data that a job may need: bundles that a job names, all files of jobs that have not ended, and of ended ones each
file that a row names. Checkpoints that are no longer among the newest go when a newer one is committed
(`backend.artifacts.service`)."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import structlog

from backend.artifacts import keeping
from backend.away import MAY_PASS, first_line
from backend.bundles import service as bundles
from backend.platform import Platform
from backend.storage import repository
from backend.storage.folders import Entry, count, entries, files_below
from gradstream.api.platform import Collected, Collection, UnneededKind

log = structlog.get_logger(__name__)

FIRST_AFTER, EVERY = 60.0, 3600.0
"""Seconds from the controller's start to its first collection, and between two. One takes as long at most."""
NAMES = 20
"""Names of each kind, in a response."""
_PORTION = 200
"""Jobs that are looked at together."""
_BUNDLE_FILE = re.compile(r"([0-9a-f]{64})\.tar\.gz")


class Unneeded(NamedTuple):
    kind: UnneededKind
    name: str
    size: int


def collect(platform: Platform, *, dry_run: bool = False, within: float, stopped: threading.Event | None = None) -> Collection:
    """Remove unused data, for about so many seconds, or until `stopped`. With `dry_run` say only what that is."""
    until = time.monotonic() + within
    gone: list[Unneeded] = []
    for each in _find(platform):
        if time.monotonic() > until or (stopped is not None and stopped.is_set()):
            return _report(gone, dry_run=dry_run, complete=False)
        if each is not None and (dry_run or _remove(platform, each)):
            gone.append(each)
    return _report(gone, dry_run=dry_run, complete=True)


def collect_hourly(platform: Platform, stopped: threading.Event) -> None:
    """Until `stopped`: collect, also after a pass that failed."""
    pause = FIRST_AFTER
    while not stopped.wait(pause):
        pause = EVERY
        try:
            done = collect(platform, within=EVERY, stopped=stopped)
        except MAY_PASS as error:
            log.warning("storage is not collected, as a server does not answer", error=first_line(error))
        except Exception:
            log.exception("the collection of storage failed; it is tried again in an hour")
        else:
            for kind in done.items:
                log.info("collected", kind=kind.kind, count=kind.count, bytes=kind.bytes, names=kind.names)


def _report(gone: Sequence[Unneeded], *, dry_run: bool, complete: bool) -> Collection:
    kinds: dict[UnneededKind, list[Unneeded]] = {}
    for each in gone:
        kinds.setdefault(each.kind, []).append(each)
    items = [
        Collected(kind=kind, count=len(some), bytes=sum(each.size for each in some), names=[each.name for each in some[:NAMES]])
        for kind, some in kinds.items()
    ]
    return Collection(dry_run=dry_run, complete=complete, items=items, bytes=sum(item.bytes for item in items))


def _find(platform: Platform) -> Iterator[Unneeded | None]:
    """None, too, after each portion of jobs that was looked at."""
    yield from _unused_bundles(platform)
    yield from _bundle_files_without_row(platform)
    for old in _old(platform, platform.files.incoming):
        if not old.is_folder:
            yield Unneeded("upload", old.path.name, old.size)
    folders = {job_id: entry for entry in entries(platform.files.jobs) if entry.is_folder and (job_id := _job_id(entry.path))}
    ids = list(folders)
    for first in range(0, len(ids), _PORTION):
        yield from _left_by_jobs(platform, {job_id: folders[job_id] for job_id in ids[first : first + _PORTION]})
        yield None


def _unused_bundles(platform: Platform) -> list[Unneeded]:
    with platform.database.transaction() as session:
        unused = bundles.unused(session, platform.settings)
    return [Unneeded("bundle", hash, size) for hash, size in unused.items()]


def _bundle_files_without_row(platform: Platform) -> list[Unneeded]:
    old = {
        found[1]: entry for entry in _old(platform, platform.files.bundles) if (found := _BUNDLE_FILE.fullmatch(entry.path.name))
    }
    with platform.database.transaction() as session:
        there = bundles.existing(session, list(old))
    return [Unneeded("bundle", hash, entry.size) for hash, entry in old.items() if hash not in there]


def _left_by_jobs(platform: Platform, folders: dict[UUID, Entry]) -> Iterator[Unneeded]:
    """The folders were listed before the rows are read: a job that is being submitted has a young folder, or its row."""
    with platform.database.transaction() as session:
        ended = repository.ended_or_not(session, list(folders))
        named = keeping.named_paths(session, [job_id for job_id, is_over in ended.items() if is_over])
    for job_id, folder in folders.items():
        if job_id not in ended and _is_old(platform, folder):
            yield Unneeded("deleted job", str(job_id), count(folder.path)[1])
        for entry in files_below(folder.path) if job_id in named else ():
            path = str(entry.path.relative_to(folder.path))
            if path not in named[job_id] and not keeping.is_start_file(path) and _is_old(platform, entry):
                yield Unneeded("stray file", f"{job_id}/{path}", entry.size)


def _remove(platform: Platform, unneeded: Unneeded) -> bool:
    """Return whether it is gone: it may be used again meanwhile, and the system may refuse."""
    try:
        match unneeded.kind:
            case "bundle":
                return bundles.remove_unused(platform, unneeded.name)
            case "upload":
                (platform.files.incoming / unneeded.name).unlink(missing_ok=True)
            case "deleted job":
                shutil.rmtree(platform.files.jobs / unneeded.name)
            case "stray file":
                job_id, _, path = unneeded.name.partition("/")
                with platform.database.transaction() as session:
                    keeping.forget(session, UUID(job_id), path)
                (platform.files.jobs / unneeded.name).unlink(missing_ok=True)
    except OSError as error:
        log.warning("could not be removed", kind=unneeded.kind, name=unneeded.name, error=str(error))
        return False
    return True


def _old(platform: Platform, folder: Path) -> Iterator[Entry]:
    return (entry for entry in entries(folder) if _is_old(platform, entry))


def _is_old(platform: Platform, entry: Entry) -> bool:
    return entry.changed < time.time() - platform.settings.strays_kept.total_seconds()


def _job_id(folder: Path) -> UUID | None:
    """None: no folder that the platform has made."""
    try:
        job_id = UUID(folder.name)
    except ValueError:
        return None
    return job_id if str(job_id) == folder.name else None
