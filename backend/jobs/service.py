"""Users' operations on jobs. The course of a job is in `lifecycle` and, for its passes, in `scheduler`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from backend.away import REDIS
from backend.db import after_commit
from backend.jobs import feed, lifecycle, repository
from backend.jobs.history_schemas import Attempt, Attempts, Events, Processes, UncommittedChanges
from backend.jobs.models import JobRow, ProcessRow
from backend.jobs.states import switch
from backend.jobs.warnings import notes_on, warnings_of
from backend.platform import Platform
from backend.progress.summary import shown
from backend.users.service import Caller
from gradstream.api.code import UncommittedChange
from gradstream.api.history import Event, Process
from gradstream.api.jobs import Job, JobWarning
from gradstream.api.statuses import ENDED, JobStatus
from gradstream.errors import Conflict, NotFound
from gradstream.events import EventKind
from gradstream.process.order import plane_id
from gradstream.spec import JobSpec
from gradstream.spec.roles import SettledCollective
from gradstream.wire import plane

log = structlog.get_logger(__name__)


_MADE = frozenset({"spec", "progress", "warnings", "notes", "shards", "collective"})
"""Fields of a view that stand in no column as they are."""


_COLLECTIVE: TypeAdapter[SettledCollective] = TypeAdapter(SettledCollective)


def view(row: JobRow) -> Job:
    """A job as the API shows it."""
    plain = {name: getattr(row, name) for name in Job.model_fields if name not in _MADE}
    spec, settled = JobSpec.model_validate(row.spec), spec_of(row)
    chosen = [JobWarning(pointer="/roles/server/count", message=row.shards_reason)] if row.shards_reason else []
    return Job(
        **plain,
        spec=spec.model_dump(mode="json"),
        shards=settled.shards,
        collective=settled.settled_collective,
        warnings=warnings_of(spec),
        notes=[*notes_on(spec), *chosen],
        progress=shown(row.progress, spec.effective_gate, ended=row.status in ENDED),
    )


def note_figures(row: JobRow, figures: dict[str, float | None]) -> None:
    """Note the values that lists are sorted by, beside the `progress` that they are taken from."""
    for column, value in figures.items():
        setattr(row, column, value)


def spec_of(row: JobRow) -> JobSpec:
    """Return the spec as the job's processes get it: with the shards, and the way without servers, that `auto` has come to."""
    found = read_spec(row.spec, row.shards)
    return found if row.collective is None else found.with_collective(_COLLECTIVE.validate_python(row.collective))


def read_spec(spec: Mapping[str, Any], shards: int | None) -> JobSpec:
    """Return the spec with its shards, from these two columns of a job. Its next attempt may come to another `collective`."""
    found = JobSpec.model_validate(spec)
    return found if shards is None else found.with_shards(shards)


def find(session: Session, job_id: UUID) -> JobRow:
    """Raises: NotFound."""
    row = repository.get(session, job_id)
    if row is None:
        raise _no_job(job_id)
    return row


def several(session: Session, ids: Sequence[UUID]) -> list[JobRow]:
    """Return the jobs that exist, in this order, each once."""
    return repository.several(session, ids)


def lock(session: Session, job_id: UUID) -> JobRow:
    """The job, for changing it: every other writer waits until this transaction ends. Raises: NotFound."""
    row = repository.lock(session, job_id)
    if row is None:
        raise _no_job(job_id)
    return row


def _no_job(job_id: UUID) -> NotFound:
    return NotFound(f"There is no job {job_id}; it may have been deleted.", job=str(job_id))


def stop(session: Session, platform: Platform, caller: Caller, job_id: UUID) -> Job:
    """A queued job ends at once; a running one is asked to finish; one that ended or is ending stays as it is."""
    job = lock(session, job_id)
    message = f"{caller.name} stopped it."
    if job.status == JobStatus.QUEUED:
        switch(session, job, JobStatus.CANCELLED, actor=caller.actor, reason="stopped_by_user", message=message)
    elif job.status not in ENDED and job.status != JobStatus.STOPPING:
        end = lifecycle.End(JobStatus.CANCELLED, "stopped_by_user", message, grace=platform.settings.stop_grace)
        lifecycle.begin_end(session, job, end, actor=caller.actor)
    return view(job)


def change_priority(session: Session, caller: Caller, job_id: UUID, priority: int) -> Job:
    """Change the priority of a queued job. The scheduler finds the new place in its next pass. The job file stays as submitted."""
    job = lock(session, job_id)
    if job.status != JobStatus.QUEUED:
        raise Conflict(f"The job is {job.status}; only the order of jobs that wait can be changed.", status=job.status)
    if job.priority != priority:
        message = f"priority {priority} instead of {job.priority}, by {caller.name}."
        feed.record(session, job, EventKind.PRIORITY, message, actor=caller.actor, data={"from": job.priority, "to": priority})
        job.priority = priority
        feed.changed(session, job)
    return view(job)


def delete(session: Session, platform: Platform, caller: Caller, job_id: UUID) -> None:
    """Delete an ended job: rows first; files after the commit, as they cannot be rolled back. Its events go, too, so the log keeps
    who did it."""
    job = lock(session, job_id)
    if job.status not in ENDED:
        raise Conflict(f"The job is {job.status}. Stop it first, then delete it.", status=job.status)
    for attempt in repository.attempts(session, job_id):
        if attempt.plane_open:
            j = plane_id(job_id, attempt.number)
            after_commit(session, ("plane", j), partial(_remove_plane, platform, j))
    told = partial(log.info, "a job was deleted", job=str(job_id), name=job.name, owner=job.user, actor=caller.actor)
    after_commit(session, ("deleted", job_id), told)
    repository.remove(session, job)
    after_commit(session, ("files", job_id), partial(platform.files.remove_job, job_id))
    after_commit(session, ("job", job_id), partial(platform.wakeup.send, job_id))


def _remove_plane(platform: Platform, j: str) -> None:
    """Remove the attempt's keys, as the controller would have done in a moment, had the job not been deleted first."""
    try:
        plane.destroy(platform.plane, j)
    except REDIS as error:
        log.warning("a deleted job leaves keys on the data plane, as its Redis is away", plane=j, error=str(error))


def events(session: Session, job_id: UUID, after: int, kinds: Sequence[EventKind], limit: int | None) -> Events:
    """Return the events of a job, of all kinds if none is given. Raises: NotFound."""
    find(session, job_id)
    rows = repository.events(session, job_id, after, kinds=kinds, limit=limit)
    return Events(items=[Event.model_validate(row) for row in rows])


def uncommitted_changes(session: Session, job_id: UUID) -> UncommittedChanges:
    """Raises: NotFound."""
    return UncommittedChanges(items=[UncommittedChange.model_validate(each) for each in find(session, job_id).uncommitted or ()])


def attempts(session: Session, job_id: UUID) -> Attempts:
    find(session, job_id)
    return Attempts(items=[Attempt.model_validate(row) for row in repository.attempts(session, job_id)])


def processes(session: Session, job_id: UUID) -> Processes:
    find(session, job_id)
    return Processes(items=[Process.model_validate(row) for row in repository.processes(session, job_id)])


def processes_of_node(session: Session, ids: Sequence[UUID], node_id: UUID) -> list[ProcessRow]:
    """Return the given processes that were placed on this node."""
    return repository.processes_by_id(session, ids, node_id)


def processes_of_attempt(session: Session, job: JobRow) -> list[ProcessRow]:
    """Return the processes of the newest attempt, those that have ended included."""
    return repository.processes(session, job.id, job.attempt)


def live_processes(session: Session, *, node_id: UUID | None = None, job_id: UUID | None = None) -> list[ProcessRow]:
    """Return the processes that have not ended and so hold their places."""
    return repository.live_processes(session, node_id=node_id, job_id=job_id)
