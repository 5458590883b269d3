"""Every measured point: from the data plane into Postgres, and out again as charts and files."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from backend.db import SessionDep
from backend.metrics import export, service
from backend.metrics.charts import counting, drawing
from backend.metrics.charts.drawing import ChartQuery, Drawing
from backend.metrics.schemas import CatalogueEntry, Charts, Distribution, ExportFormat, MeasuredNames, MetricPage, Storage
from backend.platform import PlatformDep
from backend.schemas import After
from backend.web.chunks import compute_chunks
from gradstream.api.charts import Axis
from gradstream.errors import Invalid

router = APIRouter(tags=["metrics"])

Names = Annotated[list[str], Query(min_length=1, max_length=100, description="Repeat it for several", examples=[["train/loss"]])]
Place = Annotated[float | None, Query(allow_inf_nan=False)]
_FILE = {"schema": {"type": "string", "format": "binary"}}


@router.get("/metrics/catalogue", operation_id="getMetricCatalogue")
def catalogue() -> list[CatalogueEntry]:
    """Every metric of the platform. Workloads add their own as `eval/<key>`."""
    return service.catalogue()


@router.get("/jobs/{id}/metrics", operation_id="getMetrics")
def metrics(
    id: UUID,
    session: SessionDep,
    names: Annotated[list[str] | None, Query(description="Only these metrics")] = None,
    source: Annotated[str | None, Query(description="Only measurements of this process")] = None,
    rank: Annotated[int | None, Query(ge=-1)] = None,
    after: Annotated[After, Query()] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Batches")] = 200,
) -> MetricPage:
    """Every stored point, in batches as they came."""
    return service.page(session, id, names=names, source=source, rank=rank, after=after, limit=limit)


@router.get("/jobs/{id}/metrics/names", operation_id="getMetricNames")
def names(id: UUID, session: SessionDep) -> MeasuredNames:
    """The metrics that the job has measured, with their numbers of series and points."""
    return service.names(session, id)


@router.get("/jobs/{id}/metrics/storage", operation_id="getMetricStorage")
def storage(id: UUID, session: SessionDep) -> Storage:
    """Disk use of the job's metrics, and how long they are kept."""
    return service.storage(session, id)


@router.get(
    "/jobs/{id}/metrics/export",
    operation_id="exportMetrics",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": _FILE, "application/vnd.apache.parquet": _FILE}}},
)
def export_metrics(
    id: UUID,
    platform: PlatformDep,
    name: Annotated[list[str] | None, Query(max_length=100, description="Only these metrics")] = None,
    format: ExportFormat = ExportFormat.CSV,
) -> StreamingResponse:
    """Every stored point as a file, in the order of arrival; columns: attempt, source, name, rank, step, samples, version, time
    (seconds since the epoch), value."""
    found = export.begin(platform.database, id, names=name)
    return StreamingResponse(
        compute_chunks(found.csv() if format is ExportFormat.CSV else found.parquet()),
        media_type=export.MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="{found.job_name}-{found.about}.{format}"'},
    )


@router.get("/jobs/{id}/chart", operation_id="getChart", response_model=Charts)
def chart(
    id: UUID,
    platform: PlatformDep,
    name: Names,
    x: Axis = Axis.STEP,
    start: Annotated[Place, Query(alias="from", description="Default: position of the first point")] = None,
    end: Annotated[Place, Query(alias="to", description="Default: position of the last point")] = None,
    columns: Annotated[int, Query(ge=1, le=4000, description="Equal slices of the range: the width of the drawing")] = 800,
    if_none_match: Annotated[str | None, Header()] = None,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Exact contents of every column of a chart: no extreme of the range is missed, however many points there are.

    On all axes but time, a later attempt of a series undoes the points of earlier ones from where it begins again. Undone points
    are left out. With `If-None-Match` of an earlier response's `ETag`, 304 if nothing has come since."""
    _rising(start, end)
    asked = ChartQuery(tuple(dict.fromkeys(name)), x, start, end, columns)
    with platform.database.transaction(snapshot=True) as session:
        found = drawing.draw(session, id, asked, if_none_match)
    return _reply(found, accept_encoding)


@router.get("/jobs/{id}/distribution", operation_id="getDistribution", response_model=Distribution)
def distribution(
    id: UUID,
    platform: PlatformDep,
    name: Annotated[str, Query(examples=["train/staleness"])],
    x: Axis = Axis.STEP,
    start: Annotated[Place, Query(alias="from", description="Default: position of the first point")] = None,
    end: Annotated[Place, Query(alias="to", description="Default: position of the last point")] = None,
    if_none_match: Annotated[str | None, Header()] = None,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Exact distribution of the values in a range: counts in bins that all series share, and quantiles.

    Undone points are left out, and `If-None-Match` is answered, as in charts. Whole numbers with few distinct values, such as
    staleness, are counted fast; other values are read point by point."""
    _rising(start, end)
    with platform.database.transaction(snapshot=True) as session:
        found = counting.draw(session, id, counting.DistributionQuery(name, x, start, end), if_none_match)
    return _reply(found, accept_encoding)


def _rising(start: float | None, end: float | None) -> None:
    if start is not None and end is not None and start > end:
        raise Invalid("'from' is after 'to'; exchange them.", start=start, end=end)


def _reply(found: Drawing, accept_encoding: str) -> Response:
    headers = {"ETag": found.tag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if found.body is None:
        return Response(status_code=304, headers=headers)
    if "gzip" in accept_encoding.lower():
        headers["Content-Encoding"] = "gzip"
        return Response(drawing.compressed(found.body), media_type="application/json", headers=headers)
    return Response(found.body, media_type="application/json", headers=headers)
