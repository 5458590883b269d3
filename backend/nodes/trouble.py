"""Nodes that jobs are kept away from for a while: they speak but do not act on their orders, or cannot start processes.

Such a node is tried again later, with longer pauses each time, and is in order again as soon as a process runs there."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import now
from backend.jobs import lifecycle
from backend.jobs import service as jobs
from backend.nodes.guard import guarded
from backend.nodes.models import NodeRow

RETRY_INTERVAL, MAX_RETRY_INTERVAL = timedelta(seconds=30), timedelta(minutes=10)
TOLD_IN_VAIN = 5
"""Heartbeats that were answered with an order, at least, before their node counts as deaf."""


def note(session: Session, node_id: UUID, why: str) -> None:
    """Keep jobs away from this node; harmless to repeat before its next try is due."""
    node = session.get(NodeRow, node_id, with_for_update=True, populate_existing=True)
    moment = now(session)
    if node is None or (node.retry_at is not None and node.retry_at > moment):
        return
    node.trouble, node.trouble_since = why, node.trouble_since or moment
    node.retry_at = moment + min(RETRY_INTERVAL * 2**node.troubles, MAX_RETRY_INTERVAL)
    node.troubles = min(node.troubles + 1, 10)


def clear(session: Session, node_id: UUID) -> None:
    """A process runs there."""
    node = session.get(NodeRow, node_id, populate_existing=True)
    if node is not None and node.trouble is not None:
        node.trouble, node.trouble_since, node.troubles, node.retry_at = None, None, 0, None


def lose_unheard(session: Session, node_id: UUID, name: str, within: timedelta) -> None:
    """Lose the processes that were ordered from this node again and again, for so long, and that it still does not name: its
    heartbeats arrive, but their responses do not, or it does not act on them. Such processes are placed elsewhere."""
    late = now(session) - within
    unheard = [
        row
        for row in jobs.live_processes(session, node_id=node_id)
        if row.heard_at is None and row.told_at is not None and row.told_at <= late and row.told >= TOLD_IN_VAIN
    ]
    if not unheard:
        return
    why = f"{name} sends heartbeats, but has not acted on its orders for {within.total_seconds():g} s"
    note(session, node_id, f"{why[0].upper()}{why[1:]}.")
    ids = {row.id for row in unheard}
    for job_id in sorted({row.job_id for row in unheard}):
        with guarded(session, job_id):
            job = jobs.lock(session, job_id)
            for row in jobs.live_processes(session, node_id=node_id, job_id=job_id):
                if row.id in ids:
                    lifecycle.process_lost(session, job, row, why, actor="controller")
