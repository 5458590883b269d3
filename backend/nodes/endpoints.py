from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, status

from backend.db import SessionDep
from backend.nodes import service
from backend.nodes.schemas import Nodes
from backend.platform import PlatformDep
from backend.users.auth import CallerDep
from gradstream.api.platform import Node

router = APIRouter(prefix="/nodes", tags=["nodes"])


@router.get("", operation_id="listNodes")
def nodes(session: SessionDep) -> Nodes:
    """The machines, by name, with what runs on them."""
    return service.listing(session)


@router.post("/{id}/drain", operation_id="drainNode")
def drain(id: UUID, session: SessionDep) -> Node:
    """Place no process there any more. Processes that run there may finish. Holds until `resumeNode`, also over restarts of its
    agent."""
    return service.set_draining(session, id, draining=True)


@router.post("/{id}/rotate", operation_id="rotateNode")
def rotate(id: UUID, session: SessionDep) -> Node:
    """Change a node's credential and its account on the live Redis. Its agent makes the new one after its next heartbeat; the
    old one ends when the new one is used first, and `rotating_since` becomes null. Processes go on."""
    return service.ask_to_rotate(session, id)


@router.delete("/{id}", operation_id="removeNode", status_code=status.HTTP_204_NO_CONTENT)
def remove(id: UUID, session: SessionDep, platform: PlatformDep, caller: CallerDep) -> None:
    """Take a machine out of the list until it registers again. Its token is refused at once, so its agent ends. 409 while
    processes run there, unless it drains: then they are lost, and placed elsewhere. Jobs keep the names of their nodes."""
    service.remove(session, platform, id, actor=caller.actor)


@router.post("/{id}/resume", operation_id="resumeNode")
def resume(id: UUID, session: SessionDep) -> Node:
    """Place processes there again."""
    return service.set_draining(session, id, draining=False)
