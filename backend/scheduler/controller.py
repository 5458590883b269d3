"""The controller: passes over all live jobs, a few times a second. Any number may run; what is written is guarded by locks
and by another look, not by being alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from uuid import UUID

import structlog
from redis.exceptions import OutOfMemoryError
from sqlalchemy.exc import OperationalError

from backend.away import AWAY, MAY_PASS, REDIS, first_line
from backend.db import try_lock
from backend.hints import Hints
from backend.jobs import repository as job_rows
from backend.jobs.backoff import JobBackoff, Work
from backend.media import keeping as media_keeping
from backend.metrics import ingest, keeping
from backend.nodes import silence
from backend.nodes.identity.accounts import restore_accounts
from backend.platform import Platform
from backend.scheduler import finish
from backend.scheduler.giving_up import GivingUp
from backend.scheduler.last_checkpoints import ExitReport, take_last_checkpoints, write_report
from backend.scheduler.placing.waiting_line import WaitingLine
from backend.scheduler.plane_watch import PlaneWatch
from backend.scheduler.steps import Steps
from backend.storage import collecting
from backend.updates import keeping as updates_keeping
from gradstream.api.statuses import JobStatus
from gradstream.programs.log_limit import LogLimit

log = structlog.get_logger(__name__)

BUSY_TICK, IDLE_TICK = 0.25, 1.0
"""Seconds between passes while jobs have processes, and while they wait at most; a wake-up cuts it short."""
SHORTEST_TICK = 0.05
LONGEST_BACKOFF = 2.0
TIDY_EVERY = 10.0
"""Seconds between looks at what ended jobs have left to do, and at the accounts of nodes."""
STEPS_PER_TICK = 4
"""Steps of one job before the others have their turn."""


class Controller:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._hints = Hints(platform.settings)
        self._steps = Steps(platform, self._hints)
        self._giving_up = GivingUp(platform)
        self._backoff = JobBackoff(platform.database)
        self._line = WaitingLine(self._backoff)
        self._plane_watch = PlaneWatch(platform, self._backoff)
        self._limit = LogLimit()
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
        heard = partial(self._platform.wakeup.follow, self._stopped, self._heard, own=False)
        listening = threading.Thread(target=heard, name="wake-ups", daemon=True)
        collect = partial(collecting.collect_hourly, self._platform, self._stopped)
        collection = threading.Thread(target=collect, name="collection of storage", daemon=True)
        listening.start()
        collection.start()
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
            except Exception as error:  # the last net: whatever it is, the jobs that run need the next pass
                backoff = tick = min(max(2 * backoff, BUSY_TICK), LONGEST_BACKOFF)
                self._log_failure("pass", error)
            self._woken.wait(max(0.0, tick - (time.monotonic() - began)))
            self._stopped.wait(SHORTEST_TICK)
            self._woken.clear()
        self._take_last_checkpoints()
        listening.join(timeout=2 * IDLE_TICK)
        collection.join(timeout=2 * IDLE_TICK)
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
        """All passes, once; whether any job has begun and not ended. An error in one pass, or for one job, holds up no other."""
        database = self._platform.database
        self._guarded("lost nodes", self._reap)
        self._guarded("queue", self._place)
        with database.transaction() as session:
            begun = [(job_id, attempt, JobStatus(status)) for job_id, attempt, status in job_rows.begun(session)]
        plane_away: Exception | None = None
        for job_id, attempt, status in begun:
            if plane_away and status is not JobStatus.STOPPING:
                continue  # it needs the plane; only ends can be reached without
            error = self._serve(job_id, attempt, status)
            if not isinstance(error, OutOfMemoryError):  # one that is full still answers, and jobs that end free memory
                plane_away = error or plane_away
        self._backoff.write_events()
        if plane_away:
            raise plane_away
        self._guarded("memory of the data plane", self._plane_watch.look)
        self._guarded("data plane", partial(finish.sweep, self._platform, self._backoff))
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + TIDY_EVERY
            self._guarded("stored metrics", partial(keeping.tidy, database, self._backoff))
            self._guarded("logged media", partial(media_keeping.tidy, database, self._backoff))
            self._guarded("update samples", partial(updates_keeping.tidy, database, self._backoff))
            self._guarded("accounts of nodes", partial(restore_accounts, self._platform.live, database, self._platform.derived))
        return bool(begun)

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        """A part of the pass that fails keeps the others from nothing. Raises: what says that a server is away."""
        try:
            work()
        except AWAY:
            raise
        except Exception as error:
            self._log_failure(name, error)

    def _log_failure(self, name: str, error: Exception) -> None:
        held_back = self._limit.take((name, type(error).__name__))
        if held_back is not None:
            log.error("a part of the controller failed; it is tried again", part=name, lines_held_back=held_back, exc_info=error)

    def _place(self) -> None:
        with self._platform.database.transaction() as session:
            untold = self._line.place(session)
        if untold:
            with self._platform.database.transaction() as session:
                self._line.explain(session, untold)

    def _serve(self, job_id: UUID, attempt: int, status: JobStatus) -> Exception | None:
        """One job's passes, of which each that failed lately rests. Returns the error if the data plane's Redis is away.
        Without Postgres all passes end; that is no fault of this job."""
        plane_away: Exception | None = None
        errors: list[Exception] = []
        passes: list[tuple[Work, Callable[[], None]]] = [
            ("ingest", partial(self._ingest, job_id, attempt, status)),
            ("advance", partial(self._advance, job_id)),
        ]
        due = [(work, do) for work, do in passes if job_id not in self._backoff.resting(work)]
        with structlog.contextvars.bound_contextvars(job=str(job_id)):
            for work, do in due:
                try:
                    error = self._backoff.attempt(work, job_id, do)
                except REDIS as away:
                    plane_away = away
                else:
                    errors += [error] if error else []
            if any(not isinstance(error, OperationalError) for error in errors):
                self._guarded("giving up", partial(self._give_up, job_id))
            elif len(due) == len(passes):
                self._giving_up.went_well(job_id)
        return plane_away

    def _give_up(self, job_id: UUID) -> None:
        if self._giving_up.failed(job_id):
            self._backoff.forget("ingest", job_id)
            self._backoff.forget("advance", job_id)

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
        database = self._platform.database
        with database.transaction() as session:
            if not try_lock(session, "nodes.reap"):
                return
            for name in silence.mark_silent_nodes(session, self._platform.settings.node_lost_after):
                log.warning("a node is lost", node=name)
        with database.transaction() as session:
            stranded = silence.stranded_jobs(session)
        for job_id in stranded - self._backoff.resting("lose"):
            lose = partial(silence.lose_stranded, database, job_id, self._platform.settings.node_lost_after)
            self._backoff.attempt("lose", job_id, lose)

    def _heard(self, job_id: UUID) -> None:  # a pass looks at all jobs
        self._woken.set()
