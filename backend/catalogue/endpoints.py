from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from backend.catalogue import service
from backend.catalogue.schemas import Example, StrategyInfo
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.users.auth import CallerDep

router = APIRouter(tags=["catalogue"])


@router.get("/strategies", operation_id="listStrategies")
def strategies() -> list[StrategyInfo]:
    """The algorithms, with their hyper-parameters as JSON Schema."""
    return service.strategies()


@router.get("/schema/job", operation_id="getJobSchema")
def job_schema() -> dict[str, Any]:
    """JSON Schema of the job file."""
    return service.job_schema()


@router.get("/examples", operation_id="listExamples")
def examples(session: SessionDep, caller: CallerDep, platform: PlatformDep) -> list[Example]:
    """Jobs that run as they are; their code is bundled and stored by this call."""
    return service.examples(session, platform, caller)
