from __future__ import annotations

from fastapi import APIRouter

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.scheduler import plan
from backend.scheduler.schemas import Plan, PlanJob

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.post("/plan", operation_id="planJob")
def plan_job(body: PlanJob, session: SessionDep, platform: PlatformDep) -> Plan:
    """What would become of a job if it were submitted now: its places or why it waits, its shards, traffic, staleness and memory,
    and the advisor's warnings. Changes nothing. It needs no bundle; the code of one that is uploaded is checked as at a submit."""
    return plan.plan(session, platform.files, body)
