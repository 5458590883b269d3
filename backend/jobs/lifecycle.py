"""The steps of a job's life that more than one part of the control plane takes. All want the job locked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from backend.db import now
from backend.jobs import feed, repository
from backend.jobs.models import AttemptRow, JobRow, ProcessRow
from backend.jobs.states import switch
from backend.progress.state import has_begun, seconds_to_store
from gradstream.api.statuses import AttemptStatus, JobStatus, ProcessStatus
from gradstream.events import EventKind
from gradstream.process.exits import FAILS_THE_JOB, Exit, ExitReason
from gradstream.process.order import Role
from gradstream.spec import JobSpec

NO_GRACE_PERIOD = timedelta(0)
_UNBEGUN_GRACE_PERIOD = timedelta(seconds=2)
"""For an attempt of which no worker has got ready to train: there is nothing to keep, and user code may hang."""


@dataclass(frozen=True, slots=True)
class End:
    """How a job is to end."""

    to: JobStatus
    reason: str
    message: str
    grace: timedelta = NO_GRACE_PERIOD
    """Time for its processes to finish by themselves, but for what a large model takes to be stored; then they are killed."""
    data: dict[str, Any] | None = None
    event: str | None = None
    """The text of the event instead of `message`, where an earlier event has told the reason."""


def begin_end(session: Session, job: JobRow, end: End, *, actor: str) -> None:
    """Let a job's processes end; it takes its last state when all of them have."""
    grace = end.grace and end.grace + timedelta(seconds=seconds_to_store(job.progress))
    if not has_begun(job.progress, job.attempt):
        grace = min(grace, _UNBEGUN_GRACE_PERIOD)
    job.stop_to, job.stop_at = end.to, now(session) + grace
    if current_attempt(session, job).status == AttemptStatus.PREPARING or not end.grace:
        drop_untold(session, job)
    switch(
        session,
        job,
        JobStatus.STOPPING,
        actor=actor,
        reason=end.reason,
        message=end.message,
        data={"to": end.to, **(end.data or {})},
        event=end.event,
    )


def drop_untold(session: Session, job: JobRow) -> None:
    """End the processes that no node has heard of. The others end when their nodes say so."""
    for process in repository.live_processes(session, job_id=job.id):
        if process.status == ProcessStatus.ASSIGNED:
            stopped = Exit(reason=ExitReason.STOPPED, message="it was never started")
            process_ended(session, job, process, stopped, ProcessStatus.EXITED, actor="controller")


def current_attempt(session: Session, job: JobRow) -> AttemptRow:
    found = repository.attempt(session, job.id, job.attempt)
    assert found is not None, "a job that left the queue has an attempt"
    return found


def end_attempt(session: Session, job: JobRow, status: AttemptStatus, *, reason: str | None, message: str) -> None:
    """The attempt keeps the message; its event leaves it to the event of the job's next status."""
    attempt = current_attempt(session, job)
    attempt.status, attempt.reason, attempt.message, attempt.ended_at = status, reason, message, now(session)
    drop_untold(session, job)
    feed.record(
        session,
        job,
        EventKind.ATTEMPT,
        f"attempt {attempt.number} {status}",
        actor="controller",
        data={"number": attempt.number},
    )


def process_changed(session: Session, job: JobRow, process: ProcessRow, status: ProcessStatus, *, pid: int | None = None) -> None:
    process.status, process.pid, process.seq = status, pid or process.pid, feed.take(session, job)
    if status is ProcessStatus.RUNNING and process.started_at is None:
        process.started_at = now(session)


def process_ended(session: Session, job: JobRow, process: ProcessRow, exit: Exit, status: ProcessStatus, *, actor: str) -> None:
    """Note how a process ended, once; its slot and GPU are free from now on."""
    if process.ended_at is not None:
        return
    process.status, process.exit_code, process.reason, process.message = status, exit.code, exit.reason, exit.message or None
    process.ended_at, process.seq = now(session), feed.take(session, job)
    first = _first_to_say(session, job, process) if exit.message else None
    said = f": the same as {first}" if first else f": {exit.message}" if exit.message else ""
    data = {
        "process": str(process.id),
        "label": process.label,
        "reason": exit.reason,
        "code": exit.code,
        "incarnation": process.incarnation,
    }
    feed.record(session, job, EventKind.PROCESS, f"{process.label} {status}, {exit.reason}{said}", actor=actor, data=data)


def _first_to_say(session: Session, job: JobRow, process: ProcessRow) -> str | None:
    """The label of another process of this attempt that has failed before of the same mistake, with the same sentence."""
    if process.reason not in FAILS_THE_JOB:
        return None
    ended = (row for row in repository.processes(session, job.id, process.attempt) if row.ended_at and row.label != process.label)
    same = (row for row in ended if (row.reason, row.message) == (process.reason, process.message))
    return next((row.label for row in sorted(same, key=lambda row: row.seq)), None)


def respawns(role: Role, rank: int, spec: JobSpec, *, shard_gone: bool) -> bool:
    """Return whether the next incarnation of a process that is lost starts while the others go on, with that of its whole group.
    Else a new attempt begins, as it does when a shard has ended, which will not serve it."""
    if shard_gone or spec.holds_shard(role, rank):
        return False
    return role == "evaluator" or (role in ("worker", "peers") and spec.effective_on_worker_loss == "continue")


def while_away(role: Role, spec: JobSpec) -> str:
    """Say at the end of a sentence what the rest of a job does until the next incarnation of a process is there."""
    is_only_worker = role in ("worker", "peers") and spec.roles.worker.count == 1
    return "training pauses until then" if is_only_worker else "the others continue"


def process_lost(session: Session, job: JobRow, process: ProcessRow, message: str, *, actor: str) -> None:
    process_ended(
        session, job, process, Exit(reason=ExitReason.NODE_LOST, message=message, code=-1), ProcessStatus.LOST, actor=actor
    )
