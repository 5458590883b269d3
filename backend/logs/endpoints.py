from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from backend.db import SessionDep
from backend.logs import service
from backend.logs.schemas import LogPage
from backend.schemas import After
from gradstream.process.order import Role

router = APIRouter(prefix="/jobs/{id}/logs", tags=["logs"])


@router.get("", operation_id="getLogs")
def logs(
    id: UUID, session: SessionDep,
    process: Annotated[UUID | None, Query()] = None,
    role: Annotated[Role | None, Query()] = None,
    rank: Annotated[int | None, Query(ge=-1)] = None,
    after: Annotated[After, Query()] = 0,
    tail: Annotated[int | None, Query(ge=1, le=10_000, description="Only about the last so many lines")] = None,
) -> LogPage:  # fmt: skip
    """Output of the job's processes in the order in which it arrived."""
    return service.page(session, id, process=process, role=role, rank=rank, after=after, tail=tail)
