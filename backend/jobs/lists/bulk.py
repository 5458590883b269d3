"""One action for many jobs in one transaction: the response names each job, and after an error none has changed."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from backend.jobs import labels, service
from backend.jobs.label_schemas import JobEdit
from backend.jobs.lists.schemas import Bulk, BulkAction, BulkAnswer, BulkItem
from backend.platform import Platform
from backend.users.service import Caller
from gradstream.errors import Conflict, NotFound


def change(session: Session, platform: Platform, caller: Caller, body: Bulk) -> BulkAnswer:
    """Jobs are locked in the order of their ids, as heartbeats do it, so that no two wait for each other in a circle."""
    answers = {job_id: _change(session, platform, caller, body, job_id) for job_id in sorted(set(body.ids))}
    return BulkAnswer(items=[answers[job_id] for job_id in body.ids])


def _change(session: Session, platform: Platform, caller: Caller, body: Bulk, job_id: UUID) -> BulkItem:
    """Change one job. A refusal has changed nothing before."""
    try:
        match body.action:
            case BulkAction.STOP:
                service.stop(session, platform, caller, job_id)
            case BulkAction.DELETE:
                service.delete(session, platform, caller, job_id)
            case BulkAction.ARCHIVE | BulkAction.UNARCHIVE:
                labels.edit(session, caller, job_id, JobEdit(archived=body.action is BulkAction.ARCHIVE))
            case BulkAction.ADD_TAGS:
                labels.add_tags(session, job_id, body.tags)
            case BulkAction.REMOVE_TAGS:
                labels.remove_tags(session, job_id, body.tags)
    except (Conflict, NotFound) as refusal:
        return BulkItem(id=job_id, done=False, message=refusal.message)
    return BulkItem(id=job_id, done=True, message=None)
