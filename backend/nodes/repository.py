from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, not_, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.jobs.models import JobRow, ProcessRow
from backend.nodes.models import NodeRow, PresenceRow
from backend.nodes.schemas import Register
from gradstream.api.platform import NodeStatus

_ABSENT_AFTER = timedelta(seconds=3)
_API = "api"
_STAMP = text("""
    INSERT INTO presence (service, up_since, last_seen_at) VALUES (:service, clock_timestamp(), clock_timestamp())
    ON CONFLICT (service) DO UPDATE SET
        up_since = CASE WHEN presence.last_seen_at < clock_timestamp() - :absent_after
                        THEN clock_timestamp() ELSE presence.up_since END,
        last_seen_at = clock_timestamp()
""")


def by_token(session: Session, hash: bytes) -> NodeRow | None:
    return session.scalar(select(NodeRow).where(NodeRow.token_hash == hash))


def by_credential(session: Session, hash: bytes) -> NodeRow | None:
    """Return the node with this credential, or with this one as its next."""
    known = or_(NodeRow.credential_hash == hash, NodeRow.next_credential_hash == hash)
    return session.scalar(select(NodeRow).where(known))


def credentials(session: Session) -> dict[UUID, bytes]:
    """The hashed credential of each node that may register."""
    known = select(NodeRow.id, NodeRow.credential_hash).where(NodeRow.removed_at.is_(None), NodeRow.credential_hash.is_not(None))
    return {id: hash for id, hash in session.execute(known) if hash is not None}


def use_credential(session: Session, node_id: UUID, hash: bytes) -> NodeRow | None:
    """The node, locked, after this use of its credential: the first use of the next one ends the other. None: it has ended."""
    node = session.get(NodeRow, node_id, with_for_update=True, populate_existing=True)
    if node is not None and node.next_credential_hash == hash:
        node.credential_hash, node.next_credential_hash, node.rotating_since = hash, None, None
        session.flush()
    return node if node is not None and node.credential_hash == hash else None


def set_rotating(session: Session, node_id: UUID) -> bool:
    """False: there is no such node. One that rotates already keeps its time."""
    since = func.coalesce(NodeRow.rotating_since, func.clock_timestamp())
    changed = update(NodeRow).where(NodeRow.id == node_id, NodeRow.removed_at.is_(None)).values(rotating_since=since)
    return session.scalar(changed.returning(NodeRow.id)) is not None


def is_held(session: Session, name: str, node_id: UUID | None) -> bool:
    """Return whether another node holds this name. `node_id`: None: a new node, which may take the place of one that is lost."""
    held = not_(_FREE) if node_id is None else NodeRow.id != node_id
    return session.scalar(select(NodeRow.id).where(NodeRow.name == name, held)) is not None


_FREE = or_(NodeRow.removed_at.is_not(None), NodeRow.status == NodeStatus.LOST)
"""Condition on a node's row: a new machine may take its place. Silence alone frees no name: it may be the API that was away."""


def enter(session: Session, body: Register, credential_hash: bytes, token_hash: bytes, joined_with: str) -> UUID | None:
    """A new node, or the node of that name with other secrets: the old ones are worth nothing from now on. None: the name is held
    by another machine."""
    session.execute(update(NodeRow).where(NodeRow.credential_hash == credential_hash).values(credential_hash=None))
    session.execute(update(NodeRow).where(NodeRow.next_credential_hash == credential_hash).values(next_credential_hash=None))
    joined = {"credential_hash": credential_hash, "joined_at": func.clock_timestamp(), "joined_with": joined_with}
    values = _registered(body, token_hash) | joined | {"removed_at": None, "next_credential_hash": None, "rotating_since": None}
    row = insert(NodeRow).values(name=body.name, **values)
    values["draining_since"] = case((NodeRow.removed_at.is_(None), NodeRow.draining_since), else_=None)
    return session.scalar(row.on_conflict_do_update(index_elements=["name"], set_=values, where=_FREE).returning(NodeRow.id))


def return_(session: Session, node_id: UUID, body: Register, token_hash: bytes) -> None:
    """A node whose agent was started again, with a new token and maybe another name, which must be free."""
    values = _registered(body, token_hash) | {"name": body.name}
    session.execute(update(NodeRow).where(NodeRow.id == node_id).values(values))


def _registered(body: Register, token_hash: bytes) -> dict[str, Any]:
    return {
        "token_hash": token_hash,
        "status": NodeStatus.READY,
        "slots": body.slots,
        "cpus": body.cpus,
        "memory": body.memory,
        "gpus": [gpu.model_dump() for gpu in body.gpus],
        "labels": body.labels,
        "version": body.version,
        "isolation": body.isolation.model_dump(mode="json") if body.isolation else None,
        "torch": body.torch.model_dump() if body.torch else None,
        "registered_at": func.clock_timestamp(),
        "last_seen_at": func.clock_timestamp(),
        "trouble": None,
        "trouble_since": None,
        "troubles": 0,
        "retry_at": None,
    }


def seen(session: Session, node_id: UUID, load: float | None, memory_used: int | None) -> datetime | None:
    """Note its heartbeat. Returns since when it should rotate its credential."""
    values = {"last_seen_at": func.clock_timestamp(), "status": NodeStatus.READY, "load": load, "memory_used": memory_used}
    return session.scalar(update(NodeRow).where(NodeRow.id == node_id).values(values).returning(NodeRow.rotating_since))


def set_draining(session: Session, node_id: UUID, *, draining: bool) -> bool:
    """False: there is no such node. One that drains already keeps its time."""
    since = func.coalesce(NodeRow.draining_since, func.clock_timestamp()) if draining else None
    changed = update(NodeRow).where(NodeRow.id == node_id, NodeRow.removed_at.is_(None)).values(draining_since=since)
    return session.scalar(changed.returning(NodeRow.id)) is not None


def lock(session: Session, node_id: UUID) -> NodeRow | None:
    """A node that was not removed."""
    node = session.get(NodeRow, node_id, with_for_update=True, populate_existing=True)
    return node if node is not None and node.removed_at is None else None


def all_nodes(session: Session) -> list[NodeRow]:
    there = select(NodeRow).where(NodeRow.removed_at.is_(None)).order_by(NodeRow.name)
    return list(session.scalars(there.execution_options(populate_existing=True)))


def mark_silent(session: Session, silent_for: timedelta, heard_since: datetime) -> list[NodeRow]:
    """Mark nodes as lost that were silent for so long, by the database's clock. `heard_since`: silence counts from there."""
    late = func.greatest(NodeRow.last_seen_at, heard_since) < func.clock_timestamp() - silent_for
    lost = update(NodeRow).where(NodeRow.status == NodeStatus.READY, late).values(status=NodeStatus.LOST)
    return list(session.scalars(lost.returning(NodeRow)))


def stranded(session: Session, job_id: UUID | None = None) -> list[ProcessRow]:
    """Processes that have not ended, on nodes that are lost; of one job, or of all."""
    statement = select(ProcessRow).join(NodeRow, NodeRow.id == ProcessRow.node_id)
    statement = statement.where(ProcessRow.ended_at.is_(None), NodeRow.status == NodeStatus.LOST)
    if job_id is not None:
        statement = statement.where(ProcessRow.job_id == job_id)
    order = (ProcessRow.job_id, ProcessRow.role, ProcessRow.rank)
    return list(session.scalars(statement.order_by(*order).execution_options(populate_existing=True)))


def runs_bundle(session: Session, node_id: UUID, hash: str) -> bool:
    """Return whether a process that has not ended runs on the node, or is ordered there, with this code."""
    live = select(ProcessRow.id).join(JobRow, JobRow.id == ProcessRow.job_id)
    mine = live.where(ProcessRow.node_id == node_id, ProcessRow.ended_at.is_(None), JobRow.bundle == hash)
    return session.scalar(mine.limit(1)) is not None


def stamp(session: Session) -> None:
    """An API process is here, and hears nodes."""
    session.execute(_STAMP, {"service": _API, "absent_after": _ABSENT_AFTER})


def listening_since(session: Session) -> datetime | None:
    """Since when nodes have been heard without a break; None: they are not heard now."""
    here = PresenceRow.last_seen_at >= func.clock_timestamp() - _ABSENT_AFTER
    return session.scalar(select(PresenceRow.up_since).where(PresenceRow.service == _API, here))
