from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response

from backend.db import SessionDep
from backend.media import service
from backend.platform import PlatformDep
from backend.schemas import After, Limit
from gradstream.api.media import JobMedia, MediaPage, StoredHistograms
from gradstream.user_logging.items import MediaKind

router = APIRouter(prefix="/jobs/{id}/media", tags=["media"])

Name = Annotated[str, Query(max_length=100, description="As user code has named it", examples=["samples/first"])]
Rank = Annotated[int | None, Query(ge=-1, le=2**31 - 1, description="Only of this worker; -1: of the evaluator")]
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "image/png": {"schema": {"type": "string", "format": "binary"}},
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        }
    }
}


@router.get("", operation_id="listMedia")
def list_media(id: UUID, session: SessionDep, platform: PlatformDep) -> JobMedia:
    """The names of what the user code of a job has logged beside numbers: images, figures, tables, texts and histograms."""
    return service.list_names(session, platform, id)


@router.get("/items", operation_id="listMediaItems")
def list_items(
    id: UUID,
    session: SessionDep,
    name: Name | None = None,
    kind: Annotated[MediaKind | None, Query()] = None,
    rank: Rank = None,
    after: Annotated[After, Query()] = 0,
    limit: Annotated[Limit, Query()] = 100,
) -> MediaPage:
    """Items in the order of their arrival, without their contents. A worker that repeats a step replaces its items."""
    return service.list_items(session, id, name=name, kind=kind, rank=rank, after=after, limit=limit)


@router.get("/histograms", operation_id="listHistograms")
def list_histograms(
    id: UUID,
    session: SessionDep,
    name: Name,
    rank: Rank = None,
    most: Annotated[int, Query(ge=1, le=500, description="Histograms that the response has at most")] = 200,
) -> StoredHistograms:
    """Histograms of one name with their counts, by step: how a distribution has changed."""
    return service.histograms(session, id, name=name, rank=rank, most=most)


@router.get("/items/{seq}", operation_id="getMediaItem", response_class=Response, responses=_CONTENT)
def get_item(id: UUID, seq: int, session: SessionDep, download: Annotated[bool, Query()] = False) -> Response:
    """The content of one item: a PNG file, text, or the JSON of a table or a histogram. `download`: as an attachment. It never
    changes."""
    content, media_type, name = service.find_content(session, id, seq)
    disposition = f'{"attachment" if download else "inline"}; filename="{name}"'
    headers = {"Content-Disposition": disposition, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(content, media_type=media_type, headers=headers)
