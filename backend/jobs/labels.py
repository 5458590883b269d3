"""Labels of a job: its name, tags and note, and archived jobs, which lists leave out. The job file stays as submitted."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.jobs import feed
from backend.jobs.label_schemas import JobEdit
from backend.jobs.models import JobRow
from backend.jobs.service import lock, view
from backend.users.service import Caller
from gradstream.api.jobs import Job
from gradstream.api.statuses import ENDED
from gradstream.errors import Conflict
from gradstream.events import EventKind
from gradstream.spec.values import MAX_TAGS


def edit(session: Session, caller: Caller, job_id: UUID, body: JobEdit) -> Job:
    """Change the fields that `body` has. Raises: NotFound. Conflict: a job that has not ended would be archived."""
    job = lock(session, job_id)
    if body.archived and job.status not in ENDED:
        raise Conflict(f"The job is {job.status}. Only jobs that have ended can be archived.", status=job.status)
    given = body.model_dump(exclude_none=True)
    changed = {field: value for field, value in given.items() if getattr(job, field) != value}
    if "name" in changed:
        message = f"name {body.name} instead of {job.name}, by {caller.name}."
        feed.record(session, job, EventKind.NAME, message, actor=caller.actor, data={"from": job.name, "to": body.name})
    _set(session, job, changed)
    return view(job)


def add_tags(session: Session, job_id: UUID, tags: Sequence[str]) -> None:
    """Raises: NotFound. Conflict: it would have too many."""
    job = lock(session, job_id)
    together = list(dict.fromkeys([*job.tags, *tags]))
    if len(together) > MAX_TAGS:
        raise Conflict(f"A job has at most {MAX_TAGS} tags. {job.name} would have {len(together)}; remove some first.")
    _set(session, job, {"tags": together} if together != job.tags else {})


def remove_tags(session: Session, job_id: UUID, tags: Sequence[str]) -> None:
    """Raises: NotFound."""
    job = lock(session, job_id)
    left = [tag for tag in job.tags if tag not in tags]
    _set(session, job, {"tags": left} if left != job.tags else {})


def _set(session: Session, job: JobRow, changed: dict[str, object]) -> None:
    for field, value in changed.items():
        setattr(job, field, value)
    if changed:
        feed.changed(session, job)
