"""A job's states: one table of transitions, one function that moves a job along them."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from backend.db import now
from backend.jobs import feed
from backend.jobs.models import JobRow
from gradstream.api.statuses import ENDED, JobStatus
from gradstream.errors import IllegalTransition
from gradstream.events import EventKind

S = JobStatus
TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    S.QUEUED: frozenset({S.STARTING, S.FAILED, S.CANCELLED, S.TIMED_OUT}),
    S.STARTING: frozenset({S.RUNNING, S.STOPPING, S.QUEUED}),
    S.RUNNING: frozenset({S.SUCCEEDED, S.STOPPING, S.QUEUED}),
    S.STOPPING: frozenset({S.FAILED, S.CANCELLED, S.TIMED_OUT}),
    S.SUCCEEDED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
    S.TIMED_OUT: frozenset(),
}
"""Back to queued: a new attempt is due. An end is never left."""


def switch(
    session: Session,
    job: JobRow,
    new: JobStatus,
    *,
    actor: str,
    message: str,
    reason: str | None = None,
    data: dict[str, Any] | None = None,
    event: str | None = None,
) -> None:
    """Move a locked job to `new` and write the event that says so: the only writer of a job's status. `event`: what the event says
    instead of `message`, where an earlier event has told the reason.

    Raises: IllegalTransition.
    """
    old = JobStatus(job.status)
    if new not in TRANSITIONS[old]:
        raise IllegalTransition(f"A job that is {old} cannot become {new}.", status=old)
    moment = now(session)
    job.status, job.reason, job.message = new, reason, message
    job.position = None
    if new is JobStatus.STARTING and job.started_at is None:
        job.started_at = moment
    if new in ENDED:
        job.ended_at, job.stop_at, job.stop_to = moment, None, None
    told = {"from": old, "to": new, "reason": reason, **(data or {})}
    feed.record(session, job, EventKind.STATUS, f"{new}: {event or message}", actor=actor, data=told)
    feed.changed(session, job)
