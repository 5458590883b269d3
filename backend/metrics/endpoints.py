from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from backend.db import SessionDep
from backend.metrics import service
from backend.metrics.schemas import CatalogueEntry, MetricPage, SeriesOf
from backend.schemas import After

router = APIRouter(tags=["metrics"])


@router.get("/metrics/catalogue", operation_id="getMetricCatalogue")
def catalogue() -> list[CatalogueEntry]:
    """Every metric of the platform. Workloads add their own as `eval/<key>`."""
    return service.catalogue()


@router.get("/jobs/{id}/metrics", operation_id="getMetrics")
def metrics(
    id: UUID, session: SessionDep,
    names: Annotated[list[str] | None, Query(description="Only these metrics")] = None,
    source: Annotated[str | None, Query(description="Only what this process measured")] = None,
    rank: Annotated[int | None, Query(ge=-1)] = None,
    after: Annotated[After, Query()] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Batches")] = 200,
) -> MetricPage:  # fmt: skip
    """Every stored point, in batches as they came."""
    return service.page(session, id, names=names, source=source, rank=rank, after=after, limit=limit)


@router.get("/jobs/{id}/metrics/series", operation_id="getMetricSeries")
def series(
    id: UUID, session: SessionDep, name: Annotated[str, Query(examples=["train/loss"])],
    max_points: Annotated[int, Query(ge=10, le=20_000, description="Per series")] = 2000,
) -> SeriesOf:  # fmt: skip
    """One metric, a series per source and rank, for drawing. Thinned if long: each bucket keeps its lowest and highest point."""
    return service.series(session, id, name, max_points)
