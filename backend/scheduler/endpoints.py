from __future__ import annotations

from fastapi import APIRouter

from backend.db import SessionDep
from backend.scheduler import plan
from backend.scheduler.schemas import Plan, PlanJob

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.post("/plan", operation_id="planJob")
def plan_job(body: PlanJob, session: SessionDep) -> Plan:
    """What would become of a job if it were submitted now: its places or why it waits, its shards, traffic, staleness and memory,
    and the advisor's warnings. Changes nothing, and needs no bundle."""
    return plan.plan(session, body)
