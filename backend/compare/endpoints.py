from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response

from backend.compare import jobs, runs, service
from backend.compare.schemas import ComparedCharts, ComparedJobs
from backend.jobs.lists.fields import FieldName
from backend.metrics.charts import drawing
from backend.platform import PlatformDep
from gradstream.api.charts import Axis, Importance, Targets
from gradstream.errors import Invalid

router = APIRouter(prefix="/compare", tags=["compare"])

Jobs = Annotated[list[UUID], Query(min_length=1, max_length=500, description="The jobs; repeat it")]
Value = Annotated[float | None, Query(allow_inf_nan=False, description="Give one of `at_least` and `at_most`", examples=[0.95])]


Few = Annotated[list[UUID], Query(min_length=1, max_length=50, description="The jobs; repeat it")]
Place = Annotated[float | None, Query(allow_inf_nan=False)]


@router.get("/jobs", operation_id="compareJobs")
def compared_jobs(platform: PlatformDep, job: Few) -> ComparedJobs:
    """Several jobs, each with the values that it runs with. One that does not exist is left out."""
    with platform.database.transaction(snapshot=True) as session:
        return jobs.read(session, platform.files, job)


@router.get("/charts", operation_id="compareCharts", response_model=ComparedCharts)
def charts(
    platform: PlatformDep,
    job: Few,
    name: Annotated[str, Query(min_length=1, examples=["train/loss"])],
    x: Axis = Axis.STEP,
    start: Annotated[Place, Query(alias="from", description="Default: position of the first point of each job")] = None,
    end: Annotated[Place, Query(alias="to", description="Default: position of the last point of each job")] = None,
    columns: Annotated[int, Query(ge=1, le=4000, description="Equal slices of the range")] = 300,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """One metric of several jobs, each as `GET /jobs/{id}/chart` has it."""
    if start is not None and end is not None and start > end:
        raise Invalid("'from' is after 'to'; exchange them.", start=start, end=end)
    asked = drawing.ChartQuery((name,), x, start, end, columns)
    with platform.database.transaction(snapshot=True) as session:
        body = drawing.draw_several(session, job, name, asked)
    headers = {"Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if "gzip" in accept_encoding.lower():
        body, headers = drawing.compressed(body), headers | {"Content-Encoding": "gzip"}
    return Response(body, media_type="application/json", headers=headers)


@router.get("/target", operation_id="compareTarget")
def target(
    platform: PlatformDep,
    job: Jobs,
    metric: Annotated[str, Query(examples=["eval/accuracy"])],
    at_least: Value = None,
    at_most: Value = None,
) -> Targets:
    """When each job first reached a value, exactly: of all stored points but those that a later attempt undid."""
    with platform.database.transaction(snapshot=True) as session:
        return service.targets(session, job, metric, at_least=at_least, at_most=at_most)


_FIGURE = (
    "A metric for its last value, `min:` or `max:` before it for its lowest or highest, or a result: `loss`, `staleness`, "
    "`seconds`, `samples` or `speed`"
)


@router.get("/importance", operation_id="settingImportance")
def importance(
    platform: PlatformDep, job: Jobs, figure: Annotated[FieldName, Query(description=_FIGURE, examples=["min:eval/loss"])]
) -> Importance:
    """The settings that differ between the jobs, by how well they explain a figure: a random forest, permutation importance.

    Check `reason` and `believed` first."""
    with platform.database.transaction(snapshot=True) as session:
        found = runs.read(session, platform.files, job, figure)
    return runs.explain(found)
