"""A job whose passes fail again and again, for an unforeseen reason, must not stay alive for ever."""

from __future__ import annotations

import time
from uuid import UUID

import structlog

from backend.jobs import lifecycle
from backend.jobs import repository as job_rows
from backend.jobs.lifecycle import End
from backend.jobs.states import switch
from backend.platform import Platform
from gradstream.api.statuses import AttemptStatus, JobStatus
from gradstream.process.exits import ExitReason

log = structlog.get_logger(__name__)

TIMEOUT = 60.0
"""Seconds for which a job's passes may fail without a single success."""
_MESSAGE = "Internal error of the control plane; the controller's log says why."


class GivingUp:
    """Remembers since when each job's passes have been failing."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._since: dict[UUID, float] = {}

    def went_well(self, job_id: UUID) -> None:
        self._since.pop(job_id, None)

    def failed(self, job_id: UUID) -> bool:
        """Ends the job when it has been failing for too long: its processes first, then, if even that fails, at once. Returns
        whether it has."""
        since = self._since.setdefault(job_id, time.monotonic())
        if time.monotonic() - since < TIMEOUT:
            return False
        self._end(job_id)
        del self._since[job_id]
        return True

    def _end(self, job_id: UUID) -> None:
        log.error("this job is given up", job=str(job_id))
        with self._platform.database.transaction() as session:
            job = job_rows.lock(session, job_id)
            if job is None:
                return
            status = JobStatus(job.status)
            if status in (JobStatus.STARTING, JobStatus.RUNNING):
                lifecycle.begin_end(session, job, End(JobStatus.FAILED, ExitReason.INTERNAL, _MESSAGE), actor="controller")
            elif status is JobStatus.STOPPING:
                to = JobStatus(job.stop_to or JobStatus.FAILED)
                lifecycle.end_attempt(session, job, AttemptStatus.FAILED, reason=ExitReason.INTERNAL, message=_MESSAGE)
                switch(session, job, to, actor="controller", reason=job.reason or ExitReason.INTERNAL, message=_MESSAGE)
