from __future__ import annotations

from fastapi import APIRouter

from backend.db import SessionDep
from backend.nodes import service
from backend.nodes.schemas import Nodes

router = APIRouter(prefix="/nodes", tags=["nodes"])


@router.get("", operation_id="listNodes")
def nodes(session: SessionDep) -> Nodes:
    """The machines, by name, with what runs on them."""
    return service.listing(session)
