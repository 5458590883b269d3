from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from backend.compare import runs, service
from backend.jobs.lists.fields import FieldName
from backend.platform import PlatformDep
from gradstream.api.charts import Importance, Targets

router = APIRouter(prefix="/compare", tags=["compare"])

Jobs = Annotated[list[UUID], Query(min_length=1, max_length=500, description="The jobs; repeat it")]
Value = Annotated[float | None, Query(allow_inf_nan=False, description="Give one of `at_least` and `at_most`", examples=[0.95])]


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
