"""One action for many jobs in one transaction: the response names each job, and after an error none has changed."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from backend.jobs import service
from backend.jobs.lists.schemas import Bulk, BulkAction, BulkAnswer, BulkItem
from backend.platform import Platform
from backend.users.service import Caller
from gradstream.errors import Conflict, NotFound


def change(session: Session, platform: Platform, caller: Caller, body: Bulk) -> BulkAnswer:
    """Jobs are locked in the order of their ids, as heartbeats do it, so that no two wait for each other in a circle."""
    answers = {job_id: _change(session, platform, caller, body.action, job_id) for job_id in sorted(set(body.ids))}
    return BulkAnswer(items=[answers[job_id] for job_id in body.ids])


def _change(session: Session, platform: Platform, caller: Caller, action: BulkAction, job_id: UUID) -> BulkItem:
    """Stop or delete one job. A refusal has changed nothing before."""
    try:
        if action is BulkAction.STOP:
            service.stop(session, platform, caller, job_id)
        else:
            service.delete(session, platform, caller, job_id)
    except (Conflict, NotFound) as refusal:
        return BulkItem(id=job_id, done=False, message=refusal.message)
    return BulkItem(id=job_id, done=True, message=None)
