"""Watches the data plane, which all jobs share. An attempt that takes more memory or connections than its bound is ended, and while
the plane is full, each job that waits for it says for whom."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from sqlalchemy.orm import Session

from backend.db import after_commit
from backend.jobs import feed, lifecycle
from backend.jobs import repository as job_rows
from backend.jobs.backoff import JobBackoff
from backend.jobs.lifecycle import End
from backend.jobs.models import JobRow
from backend.platform import Platform
from backend.progress import full_plane
from backend.progress import state as progress
from gradstream.api.statuses import JobStatus
from gradstream.events import EventKind
from gradstream.process.order import plane_id
from gradstream.wire import plane
from gradstream.wire.plane_connections import close_strangers, count_by_account, read_connection_count, read_connections
from gradstream.wire.plane_memory import Fill, Walk, read_fill
from gradstream.wire.redis.routes import everywhere

log = structlog.get_logger(__name__)

REASON = "plane_memory"
REASON_CONNECTIONS = "plane_connections"
LEAST = 128 * 2**20
"""Bytes that any attempt may hold; while the plane holds less in all, the watch skips the single attempts."""
VECTORS = 8
"""Vectors of the model's size that an attempt may hold for each worker. It needs about two; a few more are piggybacked."""
MAX_SHARE, MAX_SHARE_UNKNOWN = 0.9, 0.5
"""Shares of an instance that an attempt may hold at most: with this bound, and before the size of its model is known."""
FULL, FREE = 0.95, 0.85
"""Shares from which on an instance counts as full, and as full no more."""
CROWDED = 0.5
"""Share of an instance's connections from which on the watch looks whose they are."""
CONNECTIONS, CONNECTIONS_PER_WORKER = 512, 32
"""Connections that an attempt may have at one instance. A process needs about five."""
EVERY = 1.0
_PORTION = 0.1
"""Seconds of a walk in one pass."""
_ACTOR = "controller"
_LIVE = (JobStatus.STARTING, JobStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class AttemptOnPlane:
    """A live attempt, and what it holds on one instance."""

    job: JobRow
    bytes: int

    def bound(self, capacity: int) -> int:
        center = progress.center_bytes(self.job.progress) if self.job.progress.get("attempt") == self.job.attempt else None
        if center is None:
            return int(MAX_SHARE_UNKNOWN * capacity)
        return int(min(LEAST + VECTORS * center * (self.job.workers + 1), MAX_SHARE * capacity))

    def describe(self, capacity: int) -> str:
        return f"{_megabytes(self.bytes)} of the {_megabytes(capacity)} of the data plane"

    def explain_end(self, capacity: int) -> str:
        return (
            f"It held {self.describe(capacity)}, and {_megabytes(self.bound(capacity))} are the most for it. Its code must leave "
            "the data plane's Redis alone; if the model needs that much, raise maxmemory of the data plane."
        )


class PlaneWatch:
    def __init__(self, platform: Platform, backoff: JobBackoff) -> None:
        self._platform, self._backoff = platform, backoff
        self._walks: list[tuple[Walk, Fill]] = []
        self._next = self._next_count = 0.0
        """When the next walk, and the next count of connections, may begin."""
        self._full = True
        """Some job may have an alert that says so, also from before this program began."""

    def look(self) -> None:
        """Count connections once a second. Walk over a portion of the plane's keys, and act on a walk that has ended."""
        if time.monotonic() >= self._next_count:
            self._next_count = time.monotonic() + EVERY
            self._bound_connections()
        if not self._walks and time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY
            fills = [(redis, read_fill(redis)) for redis in everywhere(self._platform.plane)]
            self._walks = [(Walk(redis), fill) for redis, fill in fills if fill.used >= min(LEAST, FULL * fill.capacity)]
            if not self._walks:
                self._clear()
        if self._walks and all([walk.go_on(_PORTION) for walk, _ in self._walks]):
            walks, self._walks = self._walks, []
            self._act(walks)

    def _bound_connections(self) -> None:
        """At each instance that runs out of connections, close strangers, and end attempts that have more than their bound."""
        for redis in everywhere(self._platform.plane):
            count = read_connection_count(redis)
            if count.connected < CROWDED * count.capacity:
                continue
            connections = read_connections(redis)
            close_strangers(redis, connections)
            counts = count_by_account(connections)
            for j, job in self._live_attempts().items():
                held, bound = counts[plane.account(j)], CONNECTIONS + CONNECTIONS_PER_WORKER * job.workers
                if held > bound:
                    message = (
                        f"It had {held:,} connections to the data plane, and {bound:,} are the most for it. Its code must "
                        "leave the data plane's Redis alone."
                    )
                    self._for_job(job, partial(self._end, REASON_CONNECTIONS, message))

    def _live_attempts(self) -> dict[str, JobRow]:
        with self._platform.database.transaction() as session:
            return {plane_id(job.id, job.attempt): job for job in job_rows.live(session, begun=True) if job.status in _LIVE}

    def _act(self, walks: Sequence[tuple[Walk, Fill]]) -> None:
        live = self._live_attempts()
        over, full = dict[str, tuple[AttemptOnPlane, Fill]](), False
        for walk, fill in walks:
            holders = [AttemptOnPlane(live[j], size) for j, size in walk.held.items() if j in live]
            over |= {plane_id(h.job.id, h.job.attempt): (h, fill) for h in holders if h.bytes > h.bound(fill.capacity)}
            if fill.used >= (FREE if self._full else FULL) * fill.capacity and not over:
                full = True
                self._say_who_holds(list(live.values()), walk.held, holders)
        for holder, fill in over.values():
            self._for_job(holder.job, partial(self._end, REASON, holder.explain_end(fill.capacity)))
            for other in live.values():
                if other.id != holder.job.id:
                    self._for_job(other, partial(self._tell_of_end, holder, fill))
        if full:
            self._full = True
        else:
            self._clear()

    def _clear(self) -> None:
        """No job waits for the plane, as far as is known."""
        if not self._full:
            return
        with self._platform.database.transaction() as session:
            waiting = [job for job in job_rows.live(session, begun=True) if job.progress.get("plane_holder")]
        for job in waiting:
            self._for_job(job, partial(self._note, full=False))
        self._full = False

    def _for_job(self, job: JobRow, do: Callable[[Session, JobRow], None]) -> None:
        if job.id not in self._backoff.resting("plane"):
            self._backoff.attempt("plane", job.id, partial(self._in_transaction, job, do))

    def _in_transaction(self, seen: JobRow, do: Callable[[Session, JobRow], None]) -> None:
        """With the job locked, if its attempt still lives."""
        with self._platform.database.transaction() as session:
            job = job_rows.lock(session, seen.id)
            if job is not None and job.attempt == seen.attempt and job.status in _LIVE:
                do(session, job)

    def _end(self, reason: str, message: str, session: Session, job: JobRow) -> None:
        """Its keys go at once, and its account with all its connections: the others need not wait for its processes to end."""
        lifecycle.begin_end(session, job, End(JobStatus.FAILED, reason, message), actor=_ACTOR)
        log.warning("an attempt took too much of the data plane and is ended", job=str(job.id), reason=reason)
        j = plane_id(job.id, job.attempt)
        after_commit(session, ("plane", j), partial(plane.destroy, self._platform.plane, j))

    def _tell_of_end(self, holder: AttemptOnPlane, fill: Fill, session: Session, job: JobRow) -> None:
        message = (
            f"The job {holder.job.name} was ended, as it held {holder.describe(fill.capacity)}. Pushes of this job may have waited "
            "for it; nothing of them is lost."
        )
        feed.record(session, job, EventKind.WARNING, message, actor=_ACTOR, data={"about": REASON, "job": str(holder.job.id)})

    def _say_who_holds(self, live: Sequence[JobRow], held: Counter[str], holders: Sequence[AttemptOnPlane]) -> None:
        most = max(holders, key=lambda holder: holder.bytes, default=None)
        rest = sum(held.values()) - sum(holder.bytes for holder in holders)
        holder = most.job if most and rest <= most.bytes else None
        for job in live:
            self._for_job(job, partial(self._note, full=True, holder=holder))

    def _note(self, session: Session, job: JobRow, *, full: bool, holder: JobRow | None = None) -> None:
        """As an alert, and as an event the first time, and when it is over. `holder`: of most of the plane; None: ended jobs."""
        before = job.progress.get("plane_holder")
        who = full_plane.LEFTOVERS if holder is None else full_plane.THIS_JOB if holder.id == job.id else f"the job {holder.name}"
        if before == (who if full else None):
            return
        job.progress = {**job.progress, "plane_holder": who if full else None}
        if full and not before:
            data = {"about": REASON, "job": str(holder.id) if holder else None}
            feed.record(session, job, EventKind.WARNING, full_plane.sentence(who), actor=_ACTOR, data=data)
        elif before and not full:
            feed.record(session, job, EventKind.RESOLVED, "The data plane has space again.", actor=_ACTOR)
        feed.changed(session, job)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
