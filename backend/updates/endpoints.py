from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.schemas import After
from backend.updates import service
from gradstream.api.model.updates import GroupedBy, UpdateHistograms, UpdateSamplePage
from gradstream.updates.layers import MAX_LAYER_NAME
from gradstream.updates.sample import What

router = APIRouter(prefix="/jobs/{id}/updates", tags=["updates"])

Rank = Annotated[int, Field(ge=0, le=2**31 - 1)]
Ranks = Annotated[list[Rank] | None, Query(max_length=200, description="Only these workers")]
LARGEST_PAGE = 100
"""Samples of one page: each may have 100 kB."""


@router.get("", operation_id="getUpdateHistograms")
def get_histograms(
    id: UUID,
    session: SessionDep,
    platform: PlatformDep,
    what: Annotated[What, Query(description="gradient: of a round's first mini-batch; update: what the worker pushed")] = "update",
    layer: Annotated[str | None, Query(max_length=MAX_LAYER_NAME, description="Default: all layers together")] = None,
    rank: Ranks = None,
    by: Annotated[GroupedBy, Query(description="staleness: 0, 1, 2, 3-4, 5-8 ...; samples: parts of the training")] = "staleness",
    most: Annotated[int, Query(ge=1, le=2000, description="Samples that are added up at most")] = 1000,
) -> UpdateHistograms:
    """Histograms of sampled gradients and updates by layer, added up by the staleness of the push."""
    return service.histograms(session, platform, id, what=what, layer=layer, ranks=rank or (), by=by, most=most)


@router.get("/samples", operation_id="listUpdateSamples")
def list_samples(
    id: UUID,
    session: SessionDep,
    rank: Ranks = None,
    after: Annotated[After, Query()] = 0,
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE)] = LARGEST_PAGE,
) -> UpdateSamplePage:
    """The sampled pushes one by one, in the order of their arrival. A worker that repeats a step replaces its sample."""
    return service.list_samples(session, id, ranks=rank or (), after=after, limit=limit)
