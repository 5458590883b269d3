from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response, status

from backend.db import SessionDep
from backend.jobs import service, submit, waiting
from backend.jobs.schemas import (
    Attempts,
    Events,
    IdempotencyKey,
    Job,
    JobPage,
    JobStatus,
    Processes,
    SubmitJob,
    Validated,
    ValidateJob,
)
from backend.platform import PlatformDep
from backend.schemas import After, Cursor, Limit
from backend.stream.hub import HubDep
from backend.users.auth import CallerDep

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.post("", operation_id="submitJob", status_code=status.HTTP_201_CREATED)
def submit_job(
    body: SubmitJob, response: Response, session: SessionDep, caller: CallerDep,
    idempotency_key: Annotated[IdempotencyKey, Header()] = None,
) -> Job:  # fmt: skip
    """Submit a job. It is queued when this returns, not running."""
    job = submit.submit(session, caller, body, idempotency_key)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job


@router.post("/validate", operation_id="validateJob")
def validate(body: ValidateJob) -> Validated:
    """Check a job file without submitting it. Mistakes are part of the answer, each with its place in the file."""
    return submit.validate(body)


@router.get("", operation_id="listJobs")
def list_jobs(
    session: SessionDep,
    status: Annotated[list[JobStatus] | None, Query(description="Any of these")] = None,
    strategy: Annotated[str | None, Query()] = None,
    q: Annotated[str | None, Query(max_length=100, description="Part of the name")] = None,
    limit: Annotated[Limit, Query()] = 50,
    cursor: Annotated[Cursor, Query()] = None,
) -> JobPage:
    """Jobs, newest first."""
    return service.page(session, status=status, strategy=strategy, q=q, limit=limit, cursor=cursor)


@router.get("/{id}", operation_id="getJob")
async def get_job(
    id: UUID, platform: PlatformDep, hub: HubDep,
    wait: Annotated[float, Query(ge=0, le=30, description="Seconds to wait for a change")] = 0,
    since: Annotated[int, Query(ge=-1, description="`seq` of the job as the caller knows it")] = -1,
) -> Job:  # fmt: skip
    """One job. With `wait` and `since` it answers when the job's `seq` is above `since`, or when the wait is over."""
    return await waiting.changed_job(platform, hub, id, since=since, seconds=wait)


@router.post("/{id}/stop", operation_id="stopJob")
def stop_job(id: UUID, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> Job:
    """Ask a job to stop: it writes a last cut and ends as cancelled, within about half a minute. Safe to repeat."""
    return service.stop(session, platform, caller, id)


@router.delete("/{id}", operation_id="deleteJob", status_code=status.HTTP_204_NO_CONTENT)
def delete_job(id: UUID, session: SessionDep, platform: PlatformDep) -> None:
    """Remove an ended job with its metrics, logs and files. 409 while it has not ended."""
    service.delete(session, platform, id)


@router.get("/{id}/events", operation_id="listEvents")
def events(id: UUID, session: SessionDep, after: Annotated[After, Query()] = 0) -> Events:
    """What happened to the job, oldest first."""
    return service.events(session, id, after)


@router.get("/{id}/attempts", operation_id="listAttempts")
def attempts(id: UUID, session: SessionDep) -> Attempts:
    """The lives of the job, first to last."""
    return service.attempts(session, id)


@router.get("/{id}/processes", operation_id="listProcesses")
def processes(id: UUID, session: SessionDep) -> Processes:
    """All processes of all attempts, the latest attempt first."""
    return service.processes(session, id)
