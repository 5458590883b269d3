from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from backend.db import SessionDep
from backend.logs import service
from backend.logs.schemas import LogPage, Which
from backend.platform import PlatformDep
from backend.schemas import BIGGEST, After
from backend.web.chunks import compute_chunks
from gradstream.process.order import Role

LAST_RANK = 2**31 - 1
"""The greatest that a column holds."""

router = APIRouter(prefix="/jobs/{id}/logs", tags=["logs"])


@router.get("", operation_id="getLogs")
def logs(
    id: UUID,
    session: SessionDep,
    process: Annotated[UUID | None, Query()] = None,
    role: Annotated[Role | None, Query()] = None,
    rank: Annotated[int | None, Query(ge=-1, le=LAST_RANK)] = None,
    after: Annotated[After, Query()] = 0,
    before: Annotated[int | None, Query(ge=1, le=BIGGEST, description="With `tail`: only entries before this `seq`")] = None,
    tail: Annotated[int | None, Query(ge=1, le=10_000, description="About this many of the last lines")] = None,
) -> LogPage:
    """Output of the job's processes in the order in which it arrived; from the end with `tail`."""
    which = Which(process=process, role=role, rank=rank)
    return service.page(session, id, which, after=after) if tail is None else service.tail(session, id, which, before, tail)


@router.get(
    "/download",
    operation_id="downloadLogs",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def download(
    id: UUID,
    platform: PlatformDep,
    role: Annotated[Role | None, Query()] = None,
    rank: Annotated[int | None, Query(ge=-1, le=LAST_RANK)] = None,
) -> StreamingResponse:
    """All output so far as one text file, each line with its time and its process in front."""
    name, lines = service.whole(platform.database, id, Which(role=role, rank=rank))
    headers = {"Content-Disposition": f'attachment; filename="{name}.log"'}
    return StreamingResponse(compute_chunks(lines), media_type="text/plain; charset=utf-8", headers=headers)
