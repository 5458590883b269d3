from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.scheduler.planning import plan
from backend.scheduler.schemas import PlanJob
from backend.submission.job_body import DESCRIBED, UNPARSED, JobFileDep, require_parsed
from gradstream.api.plan import Plan

router = APIRouter(prefix="/jobs", tags=["jobs"])


def to_plan(request: Request, body: Annotated[PlanJob, *UNPARSED], file: JobFileDep) -> Iterator[PlanJob]:
    if file is None:
        yield require_parsed(request, body)
        return
    members = file.members()
    with file.places():
        yield PlanJob(**members)


@router.post("/plan", operation_id="planJob", openapi_extra=DESCRIBED)
def plan_job(body: Annotated[PlanJob, Depends(to_plan)], session: SessionDep, platform: PlatformDep) -> Plan:
    """Dry run of a job as if it were submitted now: its places or why it waits, its shards, traffic, staleness and memory, and
    the advisor's warnings. Changes nothing. It needs no bundle; the code of one that is uploaded is checked as at a submit.
    A YAML body is the job file itself."""
    return plan.plan(session, platform.files, body)
