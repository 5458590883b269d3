"""Streams read Postgres and nothing else; wake-ups only say when. So a stream resumes exactly, on any replica."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import structlog
from fastapi.sse import ServerSentEvent
from pydantic import BaseModel
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from backend.away import AWAY, first_line
from backend.jobs import repository as job_rows
from backend.jobs import service as job_service
from backend.jobs.schemas import Event, Process
from backend.logs import service as logs
from backend.metrics import service as metrics
from backend.platform import Platform
from backend.stream import repository
from backend.stream.hub import Hub, Waiter
from gradstream.errors import NotFound

log = structlog.get_logger(__name__)

PORTION = 500
"""Entries read in one transaction."""
LATEST = 100
_LOOK_EVERY = 2.0
"""Seconds between looks into Postgres, should a wake-up be lost."""

CLOSING = ServerSentEvent(event="closing", raw_data="{}")
"""The server is about to stop; without it, it would wait for the client to go."""

Entry = tuple[int, str, BaseModel]
"""Number in the feed, kind, content."""


async def job(platform: Platform, hub: Hub, job_id: UUID, after: int) -> AsyncIterator[ServerSentEvent]:
    """Everything about a job with a number above `after`, and what follows, in the order of the numbers.

    What is shown by its latest state (the job, a process) comes once, at its latest number.
    """
    with hub.waiter(job_id) as waiter:
        while not hub.closing:
            try:
                entries, after, more = await run_in_threadpool(_read, platform, job_id, after)
            except NotFound:
                yield ServerSentEvent(event="gone", raw_data=f'{{"id": "{job_id}"}}')
                return
            except AWAY as error:
                await _wait_for_database(waiter, error)
                continue
            for seq, kind, content in entries:
                yield ServerSentEvent(id=str(seq), event=kind, raw_data=content.model_dump_json(by_alias=True))
            if not more:
                await waiter.wait(_LOOK_EVERY)
    yield CLOSING


def _read(platform: Platform, job_id: UUID, after: int) -> tuple[list[Entry], int, bool]:
    """The next portion, the number to go on from, and whether there may be more. Reads one state of the database."""
    with platform.database.transaction(snapshot=True) as session:
        row = job_service.find(session, job_id)
        upto = repository.end_of_portion(session, job_id, after, PORTION)
        if upto is None:
            return [], after, False
        entries = _portion(session, job_id, after, upto)
        if after < row.seq <= upto:
            entries.append((row.seq, "job", job_service.view(row)))
    return sorted(entries, key=lambda entry: entry[0]), upto, len(entries) >= PORTION


def _portion(session: Session, job_id: UUID, after: int, upto: int) -> list[Entry]:
    entries: list[Entry] = []
    entries += [(e.seq, "event", Event.model_validate(e)) for e in job_rows.events(session, job_id, after, upto)]
    entries += [(p.seq, "process", Process.model_validate(p)) for p in job_rows.processes(session, job_id, after=after, upto=upto)]
    entries += [(batch.seq, "metrics", batch) for batch in metrics.between(session, job_id, after, upto)]
    entries += [(chunk.seq, "log", chunk) for chunk in logs.between(session, job_id, after, upto)]
    return entries


async def jobs(platform: Platform, hub: Hub) -> AsyncIterator[ServerSentEvent]:
    """The newest jobs as they are, then each of them, and each new one, whenever it changes."""
    known: dict[UUID, int] = {}
    with hub.waiter(None) as waiter:
        while not hub.closing:
            try:
                now, changed = await run_in_threadpool(_changed, platform, dict(known))
            except AWAY as error:
                await _wait_for_database(waiter, error)
                continue
            for content in changed:
                yield ServerSentEvent(event="job", raw_data=content.model_dump_json(by_alias=True))
            if len(now) < LATEST:  # else the oldest may be missing only because newer ones came
                for gone in known.keys() - now.keys():
                    yield ServerSentEvent(event="gone", raw_data=f'{{"id": "{gone}"}}')
            known = now
            await waiter.wait(_LOOK_EVERY)
    yield CLOSING


def _changed(platform: Platform, known: dict[UUID, int]) -> tuple[dict[UUID, int], list[BaseModel]]:
    with platform.database.transaction(snapshot=True) as session:
        latest = repository.latest(session, LATEST)
        changed = [job_id for job_id, seq in reversed(latest) if known.get(job_id) != seq]
        return dict(latest), [job_service.view(job_service.find(session, job_id)) for job_id in changed]


async def _wait_for_database(waiter: Waiter, error: Exception) -> None:
    log.warning("a stream waits for the database", error=first_line(error))
    await waiter.wait(_LOOK_EVERY)
