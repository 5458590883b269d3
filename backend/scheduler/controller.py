"""The controller: passes over all live jobs, a few times a second. Any number may run; what is written is guarded by locks
and by another look, not by being alone."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial
from types import FrameType
from uuid import UUID

import redis
import structlog
from sqlalchemy.exc import OperationalError

from backend.away import AWAY, MAY_PASS, REDIS, first_line
from backend.db import try_lock
from backend.hints import Hints
from backend.jobs import repository as job_rows
from backend.jobs.statuses import JobStatus
from backend.metrics import ingest, keeping
from backend.nodes import service as nodes
from backend.platform import Platform
from backend.scheduler import finish, queue
from backend.scheduler.giving_up import GivingUp
from backend.scheduler.last_checkpoints import ExitReport, take_last_checkpoints, write_report
from backend.scheduler.steps import Steps

log = structlog.get_logger(__name__)

BUSY_TICK, IDLE_TICK = 0.25, 1.0
"""Seconds between passes while jobs live, and while none does; a wake-up cuts it short."""
SHORTEST_TICK = 0.05
LONGEST_BACKOFF = 2.0
TIDY_EVERY = 10.0
"""Seconds between looks at what ended jobs have left to do."""
STEPS_PER_TICK = 4
"""Steps of one job before the others have their turn."""


class Controller:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._hints = Hints(platform.settings)
        self._steps = Steps(platform, self._hints)
        self._giving_up = GivingUp(platform)
        self._woken = threading.Event()
        self._stopped, self._hurried = threading.Event(), threading.Event()
        self._tidy_at = 0.0

    def run_until_signal(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
            self.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        self.run()

    def stop(self) -> None:
        """The second call ends the wait for last checkpoints."""
        if self._stopped.is_set():
            self._hurried.set()
        self._stopped.set()
        self._woken.set()

    def run(self) -> None:
        """Until `stop`. A server that is away is waited for; nothing else ends this loop either."""
        listening = threading.Thread(target=self._listen, name="wake-ups", daemon=True)
        listening.start()
        log.info("the controller runs")
        backoff = 0.0
        while not self._stopped.is_set():
            began = time.monotonic()
            try:
                tick = BUSY_TICK if self.run_once() else IDLE_TICK
                backoff = 0.0
            except MAY_PASS as error:
                backoff = tick = min(max(2 * backoff, BUSY_TICK), LONGEST_BACKOFF)
                log.warning("a server does not answer, or cannot; trying again", seconds=tick, error=first_line(error))
            self._woken.wait(max(0.0, tick - (time.monotonic() - began)))
            self._stopped.wait(SHORTEST_TICK)
            self._woken.clear()
        self._take_last_checkpoints()
        listening.join(timeout=2 * IDLE_TICK)
        self.close()

    def close(self) -> None:
        self._hints.close()

    def _take_last_checkpoints(self) -> None:
        settings = self._platform.settings
        report = ExitReport()
        if settings.checkpoint_at_exit > 0:
            try:
                report = take_last_checkpoints(self._platform, settings.checkpoint_at_exit, self._hurried)
            except Exception:  # whoever waits for the report must get it
                log.exception("the last checkpoints failed")
                report = ExitReport(["The last checkpoints failed; the controller's log says why."], None)
        for sentence in report.sentences:
            log.info("last checkpoints", outcome=sentence)
        if settings.exit_report_file:
            write_report(settings.exit_report_file, report)

    def run_once(self) -> bool:
        """All passes, once; whether any job is live. A pass that fails for one job does not hold up the others."""
        self._reap()
        with self._platform.database.transaction() as session:
            queue.place_queued(session)
        with self._platform.database.transaction() as session:
            live = [(job.id, job.attempt, JobStatus(job.status)) for job in job_rows.live(session)]
        plane_away: Exception | None = None
        cannot: Exception | None = None
        for job_id, attempt, status in live:
            if not attempt:
                continue  # it has only ever waited
            if plane_away and status is not JobStatus.STOPPING:
                continue  # it needs the plane; only ends can be reached without
            error = self._serve(job_id, attempt, status)
            if isinstance(error, OperationalError):
                cannot = error
            else:
                plane_away = error or plane_away
        if plane_away:
            raise plane_away
        finish.sweep(self._platform)
        if time.monotonic() >= self._tidy_at:
            keeping.tidy(self._platform.database)
            self._tidy_at = time.monotonic() + TIDY_EVERY
        if cannot:
            raise cannot
        return bool(live)

    def _serve(self, job_id: UUID, attempt: int, status: JobStatus) -> Exception | None:
        """One job's passes. Returns the error if the gradient plane's Redis is away, or if Postgres cannot do it for this job now,
        which is nobody's fault; Postgres away ends all passes."""
        later: Exception | None = None
        failed = False
        with structlog.contextvars.bound_contextvars(job=str(job_id)):
            for work in (partial(self._ingest, job_id, attempt, status), partial(self._advance, job_id)):
                try:
                    work()
                except REDIS as error:
                    later = error
                except AWAY:
                    raise
                except OperationalError as error:
                    later = later or error
                    log.warning("the database cannot do this for the job; it is tried again", error=first_line(error))
                except Exception:
                    failed = True
                    log.exception("a pass failed for this job; it is tried again")
            if failed:
                self._giving_up.failed(job_id)
            else:
                self._giving_up.went_well(job_id)
        return later

    def _advance(self, job_id: UUID) -> None:
        for _ in range(STEPS_PER_TICK):
            step = self._steps.advance(job_id)
            if step is None:
                return
            log.info("step", step=type(step).__name__)

    def _ingest(self, job_id: UUID, attempt: int, status: JobStatus) -> None:
        if status is not JobStatus.QUEUED:
            ingest.ingest(self._platform.database, self._platform.plane, job_id, attempt)

    def _reap(self) -> None:
        with self._platform.database.transaction() as session:
            if try_lock(session, "nodes.reap"):
                for name in nodes.lose_silent_nodes(session, self._platform.settings.node_lost_after):
                    log.warning("a node is lost", node=name)

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                for job_id in self._platform.wakeup.listen(IDLE_TICK, own=False):
                    if self._stopped.is_set():
                        return
                    if job_id is not None:
                        self._woken.set()
            except redis.RedisError as error:
                log.warning("no wake-ups; passes run by the clock", error=str(error))
                self._stopped.wait(IDLE_TICK)
