"""The line of waiting jobs: places them by priority, then age, and tells each why it waits. `placement.Line` decides which job may
go before another. A long line in which nothing has changed costs one query."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import PLACES, try_lock
from backend.jobs import feed, repository
from backend.jobs import service as jobs
from backend.jobs.backoff import JobBackoff
from backend.jobs.queue import rows as waiting_rows
from backend.jobs.queue.rows import Explanation, WaitingRow
from backend.scheduler.placing import queue
from backend.scheduler.placing.line import QueueLine, Waits
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place
from gradstream.api.statuses import JobStatus
from gradstream.spec import JobSpec
from gradstream.spec.roles import Roles

POLL_INTERVAL = 10.0
"""Seconds; a server's GPU memory is known from other jobs, which are in no fingerprint."""
_PORTION = 500
_WOKEN = 100
"""Jobs whose listeners are woken when the line moves; those of the others look by themselves after 2 s."""


@dataclass(frozen=True, slots=True)
class _Needs:
    """The kept part of a waiting job's spec, which is large."""

    roles: Roles
    network: str
    spreads: bool
    whole: JobSpec | None
    """The spec itself, where its servers may take GPUs."""

    @classmethod
    def of(cls, spec: JobSpec) -> Self:
        return cls(spec.roles, spec.network, spec.spreads, None if spec.roles.server.device == "cpu" else spec)


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that a look depends on."""

    jobs: tuple[int, int | None]
    machines: Sequence[Machine]
    resting: frozenset[UUID]


class WaitingLine:
    """Remembers what it has read of waiting jobs. For one thread."""

    def __init__(self, backoff: JobBackoff) -> None:
        self._backoff = backoff
        self._needs: dict[UUID, _Needs] = {}
        self._settled: _Seen | None = None
        """The last look, if there was nothing to do in it."""
        self._look_at = 0.0

    def place(self, session: Session) -> list[Explanation]:
        """One look. Jobs that someone else is changing right now are left for the next. A job that cannot be placed for its own
        reasons holds up no other. Returns what `explain` has to tell, in a transaction of its own."""
        fingerprint = waiting_rows.fingerprint_waiting(session)
        if not fingerprint[0]:
            self._needs.clear()
            return []
        if not try_lock(session, PLACES):
            return []
        seen = _Seen(fingerprint, queue.free_machines(session), self._backoff.resting("place"))
        if seen == self._settled and time.monotonic() < self._look_at:
            return []
        self._settled, self._look_at = None, time.monotonic() + POLL_INTERVAL
        waiting = [job for job in waiting_rows.waiting(session) if job.id not in seen.resting]
        self._needs = {job.id: self._needs[job.id] for job in waiting if job.id in self._needs}
        line, untold, failed = QueueLine(seen.machines), list[Explanation](), False
        for first in range(0, len(waiting), _PORTION):
            portion = waiting[first : first + _PORTION]
            specs = waiting_rows.specs(session, [job.id for job in portion if job.id not in self._needs])
            for job in portion:
                place = partial(self._place_next, session, line, job, specs, untold)
                failed = self._backoff.attempt("place", job.id, place) is not None or failed
        if not untold and not failed and not line.gave:
            self._settled = seen
        return untold

    def explain(self, session: Session, untold: Sequence[Explanation]) -> None:
        """Tell jobs why they wait."""
        told = waiting_rows.explain(session, untold)
        for job_id in told[:_WOKEN]:
            feed.wake(session, job_id)

    def _place_next(
        self, session: Session, line: QueueLine, seen: WaitingRow, specs: Mapping[UUID, Any], untold: list[Explanation]
    ) -> None:
        if seen.id not in self._needs:
            self._needs[seen.id] = _Needs.of(jobs.read_spec(specs[seen.id], seen.shards))
        turn = self._turn(session, line, seen)
        if isinstance(turn, Waits):
            told = Explanation(seen.id, turn.shortage.reason, turn.shortage.message, turn.position)
            if told != seen.told:
                untold.append(told)
            return
        with session.begin_nested():  # an error of the database ends this job's part of the transaction only
            job = repository.lock(session, seen.id, skip_locked=True)
            if job is not None and job.status == JobStatus.QUEUED:
                queue.start(session, job, turn)

    def _turn(self, session: Session, line: QueueLine, seen: WaitingRow) -> Sequence[Place] | Waits:
        needs, takes = self._needs[seen.id], 0
        if needs.whole is not None:
            with session.begin_nested():
                takes = queue.shard_takes(session, needs.whole, seen.bundle)
        return line.next(needs, takes)
