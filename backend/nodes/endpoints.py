from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from backend.db import SessionDep
from backend.nodes import service
from backend.nodes.schemas import Node, Nodes

router = APIRouter(prefix="/nodes", tags=["nodes"])


@router.get("", operation_id="listNodes")
def nodes(session: SessionDep) -> Nodes:
    """The machines, by name, with what runs on them."""
    return service.listing(session)


@router.post("/{id}/drain", operation_id="drainNode")
def drain(id: UUID, session: SessionDep) -> Node:
    """Place no process there any more. What runs there may finish. Holds until `resumeNode`, also over restarts of its agent."""
    return service.set_draining(session, id, draining=True)


@router.post("/{id}/resume", operation_id="resumeNode")
def resume(id: UUID, session: SessionDep) -> Node:
    """Place processes there again."""
    return service.set_draining(session, id, draining=False)
