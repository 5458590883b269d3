"""One guard per job for everything that walks over jobs. Retries of work that fails for one job: pauses grow, an event on the job
names the remedy, other jobs continue."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import structlog
from sqlalchemy.exc import OperationalError

from backend.away import AWAY, first_line, is_disk_full
from backend.db import Database, storable
from backend.jobs import feed
from backend.jobs import repository as job_rows
from gradstream.events import EventKind
from gradstream.programs.log_limit import LogLimit

log = structlog.get_logger(__name__)

Work = Literal["place", "ingest", "advance", "lose", "fold", "retention", "media", "updates", "sweep", "checkpoint", "plane"]

RETRY_INTERVAL, MAX_RETRY_INTERVAL = 1.0, 600.0
"""Seconds; the pause doubles with each failure in a row."""
MAX_DATABASE_RETRY_INTERVAL = 5.0
"""Seconds, where the database answers but is full or too slow: that is not due to the job, and passes."""
_TOLD_AFTER = 5
"""Such failures in a row before the job's events tell of it."""
_EVENTS_AT_ONCE = 50
_FORGOTTEN_AFTER = 3600.0
_SHOWN = 200

_CANCEL = "Cancel the job, and submit it with usual values in its job file"
_REPORT = "Report it with the controller's log, which has the whole error"
_FREE_SPACE = "The disk of the control plane is full: free some space on it"
_TELLS: dict[Work, tuple[str, str]] = {
    "place": ("The controller cannot place this job", _CANCEL),
    "ingest": ("The controller cannot store metrics of this job", _REPORT),
    "advance": ("The controller cannot advance this job", f"Stop it if it does not recover. {_REPORT}"),
    "lose": ("The controller cannot end processes of this job on a lost node", f"Stop the job. {_REPORT}"),
    "fold": ("The controller cannot complete the charts of this job", _REPORT),
    "retention": ("The controller cannot remove the stored metrics of this job", "Delete the job if they have to go now"),
    "media": ("The controller cannot remove the logged media of this job", "Delete the job if they have to go now"),
    "sweep": ("The controller cannot remove what this job left on the data plane", f"Delete the job. {_REPORT}"),
    "plane": ("The controller cannot act on what this job holds of the data plane", _REPORT),
    "checkpoint": ("The controller could not request a last checkpoint of this job", _REPORT),
}
"""The failure of each work, and its remedy."""


@dataclass(slots=True)
class _FailedWork:
    times: int
    again_at: float
    """On the monotonic clock."""
    told: bool = False


class JobBackoff:
    """Remembers which work on which job fails, and until when it rests. For one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._failing: dict[tuple[Work, UUID], _FailedWork] = {}
        self._untold: dict[tuple[Work, UUID], tuple[str, str]] = {}
        """The error and its remedy."""
        self._limit = LogLimit()

    def resting(self, work: Work) -> frozenset[UUID]:
        """The jobs for which this work is not due yet."""
        moment = time.monotonic()
        return frozenset(job for (its, job), failure in self._failing.items() if its == work and failure.again_at > moment)

    def attempt(self, work: Work, job_id: UUID, do: Callable[[], None]) -> Exception | None:
        """Do it, and return the error that the job rests for now, if there was one. Raises: what says that a server is away."""
        try:
            do()
        except AWAY:
            raise
        except Exception as error:
            self._failed(work, job_id, error)
            return error
        self.forget(work, job_id)
        return None

    def forget(self, work: Work, job_id: UUID) -> None:
        """It went well, or begins anew."""
        self._failing.pop((work, job_id), None)
        self._untold.pop((work, job_id), None)

    def _failed(self, work: Work, job_id: UUID, error: Exception) -> None:
        of_database = isinstance(error, OperationalError)
        failure = self._failing.setdefault((work, job_id), _FailedWork(0, 0.0))
        longest = MAX_DATABASE_RETRY_INTERVAL if of_database else MAX_RETRY_INTERVAL
        pause = min(RETRY_INTERVAL * 2.0 ** min(failure.times, 30), longest)
        failure.times, failure.again_at = failure.times + 1, time.monotonic() + pause
        if not failure.told and (not of_database or failure.times >= _TOLD_AFTER):
            failure.told = True
            remedy = _FREE_SPACE if is_disk_full(error) else _TELLS[work][1]
            self._untold[work, job_id] = f"{type(error).__name__}: {first_line(error)}"[:_SHOWN], remedy
        held_back = self._limit.take((work, type(error).__name__))
        if held_back is not None:
            log.error(
                "work on a job failed; it is tried again",
                work=work,
                job=str(job_id),
                times=failure.times,
                again_in=pause,
                lines_held_back=held_back,
                error=first_line(error),
                exc_info=None if of_database else error,
            )

    def write_events(self) -> None:
        """Tell the jobs' users, once for each kind of work in the life of a job. Outside of any transaction."""
        moment = time.monotonic()
        for key in [key for key, failure in self._failing.items() if moment - failure.again_at > _FORGOTTEN_AFTER]:
            del self._failing[key]  # its job is gone
        for work, job_id in list(self._untold)[:_EVENTS_AT_ONCE]:
            why, remedy = self._untold.pop((work, job_id))
            try:
                self._write_event(work, job_id, why, remedy)
            except AWAY:
                raise
            except Exception as error:
                if self._limit.take("event") is not None:
                    log.error("an event could not be written", job=str(job_id), error=first_line(error))

    def _write_event(self, work: Work, job_id: UUID, why: str, remedy: str) -> None:
        with self._database.transaction() as session:
            job = job_rows.lock(session, job_id, skip_locked=True)
            if job is None:
                return
            warnings = job_rows.events(session, job_id, kinds=[EventKind.WARNING])
            if any(event.data.get("work") == work for event in warnings):
                return
            message = f"{_TELLS[work][0]} ({storable(why)}). It retries with longer pauses; other jobs continue. {remedy}."
            feed.record(session, job, EventKind.WARNING, message, actor="controller", data={"work": work})
            feed.changed(session, job)
