"""Restart or stop of one process of a running job at a user's request, and the cost of it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.db import now
from backend.jobs import feed, lifecycle
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import JobRow, ProcessRow
from backend.platform import Platform
from backend.progress.state import process_summaries
from backend.users.service import Caller
from gradstream.api.history import Choice, Choices, Process
from gradstream.api.statuses import JobStatus, ProcessStatus
from gradstream.errors import Conflict, NotFound
from gradstream.events import EventKind
from gradstream.process.exits import Exit, ExitReason
from gradstream.process.order import plane_id
from gradstream.wire import plane


def choices(session: Session, job_id: UUID, process_id: UUID) -> Choices:
    """Return the consequences of a restart and of a stop of this process now. Raises: NotFound."""
    job, process = jobs.find(session, job_id), _process(session, job_id, process_id)
    refusal = _refusal(job, process)
    if refusal:
        return Choices(restart=Choice(possible=False, message=refusal), stop=Choice(possible=False, message=refusal))
    return Choices(restart=_restart(session, job, process), stop=_stop(job, process))


def restart(session: Session, caller: Caller, job_id: UUID, process_id: UUID) -> Process:
    """Count the process as ended: its node ends it, and the controller sees to its successor. Raises: NotFound, Conflict."""
    job = jobs.lock(session, job_id)
    process = _process(session, job_id, process_id)
    _check(job, process)
    exit = Exit(reason=ExitReason.RESTARTED, message=f"{caller.name} restarted it", code=0)
    lifecycle.process_ended(session, job, process, exit, ProcessStatus.EXITED, actor=caller.actor)
    return Process.model_validate(process)


def stop(session: Session, platform: Platform, caller: Caller, job_id: UUID, process_id: UUID) -> Process:
    """Ask a worker to leave at its next round boundary; the others go on. Safe to repeat. Raises: NotFound, Conflict."""
    job = jobs.lock(session, job_id)
    process = _process(session, job_id, process_id)
    _check(job, process)
    choice = _stop(job, process)
    if not choice.possible:
        raise Conflict(choice.message, process=process.label)
    message = f"{caller.name} stops {process.label}: it leaves at its next boundary{_and_others(job)}."
    feed.record(
        session, job, EventKind.PROCESS, message, actor=caller.actor, data={"process": str(process.id), "label": process.label}
    )
    plane.control_stop(platform.plane, plane_id(job.id, job.attempt), message, process.rank)
    return Process.model_validate(process)


def _process(session: Session, job_id: UUID, process_id: UUID) -> ProcessRow:
    found = job_rows.process(session, process_id)
    if found is None or found.job_id != job_id:
        raise NotFound(f"The job has no process {process_id}.", job=str(job_id), process=str(process_id))
    session.refresh(found)
    return found


def _check(job: JobRow, process: ProcessRow) -> None:
    if refusal := _refusal(job, process):
        raise Conflict(refusal, process=process.label)


def _refusal(job: JobRow, process: ProcessRow) -> str | None:
    if process.ended_at is not None or process.attempt != job.attempt:
        return f"{process.label} of attempt {process.attempt} has ended."
    if job.status != JobStatus.RUNNING:
        return f"The job is {job.status}; its processes can be restarted and stopped while it is running."
    return None


def _stop(job: JobRow, process: ProcessRow) -> Choice:
    if process.role != "worker":
        return Choice(possible=False, message=f"The job needs {process.label} to its end. Restart it, or stop the job.")
    return Choice(
        possible=True,
        message=f"{process.label} finishes its round and leaves{_and_others(job)}. Its pushes so far count; the rest of its share "
        "is left out. A new attempt would bring it back.",
    )


def _and_others(job: JobRow) -> str:
    return ", and the others continue" if jobs.spec_of(job).roles.worker.count > 1 else ""


def _restart(session: Session, job: JobRow, process: ProcessRow) -> Choice:
    spec, rows = jobs.spec_of(job), job_rows.processes(session, job.id, job.attempt)
    shard_gone = any(row.ended_at and spec.holds_shard(row.role, row.rank) for row in rows)
    if lifecycle.respawns(process.role, process.rank, spec, shard_gone=shard_gone):
        meanwhile = lifecycle.while_away(process.role, spec)
        lost = "Its pushes so far count; work that it has not pushed is lost. " if process.role in ("worker", "peers") else ""
        return Choice(
            possible=True,
            message=f"{process.label} ends now, and its next incarnation starts from the center. {lost}"
            f"{meanwhile[0].upper()}{meanwhile[1:]}. This uses up no retry.",
        )
    kept = artifacts.newest_checkpoint(session, job.id)
    made = sum(account.get("pushed", 0) for account in process_summaries(job.progress).ledger.values())
    if kept is None:
        since = f"from the beginning, as there is no checkpoint yet: all pushes are rolled back, at least {made}"
    else:
        age = (now(session) - kept.created_at).total_seconds()
        lost = max(0, made - sum(kept.manifest.get("pushed", {}).values()))
        since = f"from checkpoint {kept.number} of attempt {kept.attempt}, {age:.0f} s old: at least {lost} pushes are rolled back"
    return Choice(
        possible=True,
        new_attempt=True,
        message=f"All processes end, and a new attempt starts {since}. This uses up no retry.",
    )
