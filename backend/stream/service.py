"""Streams read Postgres and nothing else; wake-ups only say when. So a stream resumes exactly, on any replica."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel
from sqlalchemy.orm import Session

from backend.jobs import repository as job_rows
from backend.jobs import service as job_service
from backend.jobs.lists import listing
from backend.logs import service as logs
from backend.metrics import service as metric_service
from backend.platform import Platform
from backend.stream import repository
from gradstream.api.history import Event, Process
from gradstream.api.jobs import JobSummary

PORTION = 500
"""Entries read in one transaction."""
PORTION_BYTES = 1024**2
"""Bytes of output read in one transaction."""
LATEST = 100
POLL_INTERVAL = 2.0
"""Seconds between looks into Postgres, should a wake-up be lost."""

CLOSING = ServerSentEvent(event="closing", raw_data="{}")
"""The server is about to stop; without it, it would wait for the client to go."""

Entry = tuple[int, str, BaseModel]
"""Number in the feed, kind, content."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The entries of a job's feed with numbers above `after`, up to `upto`."""

    after: int
    upto: int
    events: tuple[ServerSentEvent, ...]
    more: bool
    """There may be more behind `upto`."""


def head(platform: Platform, job_id: UUID) -> int:
    """The last number given in the job's feed. Raises: NotFound."""
    with platform.database.transaction() as session:
        return job_service.find(session, job_id).feed


def read(platform: Platform, job_id: UUID, after: int, cap: int | None) -> Frame:
    """The next portion, up to the number `cap` if there is one. Reads one state of the database. Raises: NotFound.

    An entry that shows a latest state (the job, a process) is in it if its latest number is."""
    with platform.database.transaction(snapshot=True) as session:
        row = job_service.find(session, job_id)
        end = repository.end_of_portion(session, job_id, after, PORTION, PORTION_BYTES)
        upto = max(after, row.feed) if end is None else end
        upto = upto if cap is None else min(upto, cap)
        entries = _portion(session, job_id, after, upto) if end is not None else []
        if after < row.seq <= upto:
            entries.append((row.seq, "job", job_service.view(row)))
    events = tuple(_event(*entry) for entry in sorted(entries, key=lambda entry: entry[0]))
    return Frame(after, upto, events, more=end is not None and upto < row.feed)


def _event(seq: int, kind: str, content: BaseModel) -> ServerSentEvent:
    return ServerSentEvent(id=str(seq), event=kind, raw_data=content.model_dump_json(by_alias=True))


def _portion(session: Session, job_id: UUID, after: int, upto: int) -> list[Entry]:
    entries: list[Entry] = []
    entries += [(e.seq, "event", Event.model_validate(e)) for e in job_rows.events(session, job_id, after, upto)]
    entries += [(p.seq, "process", Process.model_validate(p)) for p in job_rows.processes(session, job_id, after=after, upto=upto)]
    entries += [(chunk.seq, "log", chunk) for chunk in logs.between(session, job_id, after, upto)]
    ends = sorted(seq for seq, *_ in entries)
    entries += [(metrics.seq, "metrics", metrics) for metrics in metric_service.arrived(session, job_id, after, upto, ends)]
    return entries


@dataclass(frozen=True, slots=True)
class ListLook:
    """The list of jobs, as one look into Postgres finds it."""

    latest: dict[UUID, int]
    """The newest jobs and older ones that have not ended, newest first, with the numbers of their last changes."""
    changed: list[JobSummary]
    gone: set[UUID]
    upto: int
    gone_since: dict[int | None, set[UUID]]
    """For each `since` that was asked for."""


def look_at_list(platform: Platform, known: dict[UUID, int], since: int | None, sinces: frozenset[int | None]) -> ListLook:
    """Look at the list of jobs. `known`: `latest` of the look before; `since`: its `upto`. Reads one state of the database."""
    with platform.database.transaction(snapshot=True) as session:
        latest = repository.latest(session, LATEST)
        changed = [job_id for job_id, seq in reversed(latest) if known.get(job_id) != seq]
        changed += known.keys() - dict(latest).keys()  # they have ended behind newer ones: their last word
        gone, upto = repository.gone(session, since)
        gone_since = {each: set(repository.gone(session, each)[0]) for each in sinces}
        return ListLook(dict(latest), listing.summaries(session, changed), set(gone), upto, gone_since)
