from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from backend.compare import service
from backend.platform import PlatformDep
from gradstream.api.charts import Targets

router = APIRouter(prefix="/compare", tags=["compare"])

Value = Annotated[float | None, Query(allow_inf_nan=False, description="Give one of `at_least` and `at_most`", examples=[0.95])]


@router.get("/target", operation_id="compareTarget")
def target(
    platform: PlatformDep,
    job: Annotated[list[UUID], Query(min_length=1, max_length=500, description="The jobs; repeat it")],
    metric: Annotated[str, Query(examples=["eval/accuracy"])],
    at_least: Value = None,
    at_most: Value = None,
) -> Targets:
    """When each job first reached a value, exactly: of all stored points but those that a later attempt undid."""
    with platform.database.transaction(snapshot=True) as session:
        return service.targets(session, job, metric, at_least=at_least, at_most=at_most)
