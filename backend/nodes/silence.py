"""Nodes that fell silent are lost, and what ran there with them: job by job, so that one keeps no other from its next attempt."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import Database
from backend.jobs import lifecycle
from backend.jobs import repository as job_rows
from backend.nodes import repository


def mark_silent_nodes(session: Session, silent_for: timedelta) -> list[str]:
    """Names of the nodes that are lost since this call."""
    heard_since = repository.listening_since(session)
    return [] if heard_since is None else [node.name for node in repository.mark_silent(session, silent_for, heard_since)]


def stranded_jobs(session: Session) -> frozenset[UUID]:
    """Jobs with processes on lost nodes that count as alive."""
    return frozenset(row.job_id for row in repository.stranded(session))


def lose_stranded(database: Database, job_id: UUID, silent_for: timedelta) -> None:
    """Note that this job's processes on lost nodes are lost."""
    with database.transaction() as session:
        job = job_rows.lock(session, job_id)
        if job is None:
            return
        for row in repository.stranded(session, job_id):  # read under the lock: its node may have come back
            message = f"{row.node} was silent for more than {silent_for.total_seconds():g} s"
            lifecycle.process_lost(session, job, row, message, actor="controller")
