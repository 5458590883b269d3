from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response, status

from backend.db import SessionDep
from backend.jobs import bulk, listing, queue_view, service, submit, waiting
from backend.jobs.history_schemas import Attempts, Events, Processes
from backend.jobs.job_body import DESCRIBED, SubmitDep, ValidateDep
from backend.jobs.list_schemas import Bulk, BulkAnswer, JobCounts, JobPage, JobQuery, JobSort
from backend.jobs.queue_schemas import ChangePriority, Queue
from backend.jobs.schemas import Job
from backend.jobs.statuses import JobStatus
from backend.jobs.submit_schemas import IdempotencyKey, Validated
from backend.platform import PlatformDep
from backend.schemas import After, Cursor, Limit
from backend.stream.hub import HubDep
from backend.users.auth import CallerDep

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.post("", operation_id="submitJob", status_code=status.HTTP_201_CREATED, openapi_extra=DESCRIBED)
def submit_job(
    body: SubmitDep, response: Response, session: SessionDep, caller: CallerDep, platform: PlatformDep,
    idempotency_key: Annotated[IdempotencyKey, Header()] = None,
) -> Job:  # fmt: skip
    """Submit a job. It is queued when this returns, not running. The body is JSON, or a job file in YAML as it is, with the bundle
    and values to set over the file in the query. Mistakes in YAML are named with line and column."""
    job = submit.submit(session, platform.files, caller, body, idempotency_key)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job


@router.post("/validate", operation_id="validateJob", openapi_extra=DESCRIBED)
def validate(body: ValidateDep, session: SessionDep, platform: PlatformDep) -> Validated:
    """Check a job file, and the code of a bundle as far as its text says, without submitting it. Mistakes are part of the
    response, each with its place in the file. Nothing of the code is run. A YAML body is the job file itself."""
    return submit.validate(session, platform.files, body)


@router.get("", operation_id="listJobs")
def list_jobs(
    session: SessionDep,
    status: Annotated[list[JobStatus] | None, Query(description="Any of these")] = None,
    strategy: Annotated[list[str] | None, Query(description="Any of these")] = None,
    user: Annotated[list[str] | None, Query(description="Any of these; names")] = None,
    q: Annotated[str | None, Query(max_length=100, description="Part of the name, or the first letters of the id")] = None,
    sort: Annotated[JobSort, Query(description="Jobs that have no such value yet come last, both ways")] = JobSort.CREATED,
    descending: Annotated[bool, Query(description="The greatest first; of `created`, the newest")] = True,
    limit: Annotated[Limit, Query()] = 50,
    cursor: Annotated[Cursor, Query()] = None,
) -> JobPage:
    """Jobs, newest first unless told otherwise. A cursor is good for the order that it was made in."""
    query = JobQuery(status=status or [], strategy=strategy or [], user=user or [], q=q, sort=sort, descending=descending)
    return listing.page(session, query, limit=limit, cursor=cursor)


@router.get("/counts", operation_id="countJobs")
def count_jobs(session: SessionDep) -> JobCounts:
    """How many jobs there are of each status, strategy and user."""
    return listing.counts(session)


@router.get("/queue", operation_id="getQueue")
def get_queue(session: SessionDep) -> Queue:
    """Who waits, in which order and why; and who holds the machines."""
    return queue_view.read(session)


@router.post("/bulk", operation_id="changeJobs")
def change_jobs(body: Bulk, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> BulkAnswer:
    """Stop or delete many jobs at once. What cannot be done to one of them is said in its item, and done to the others. An
    error means that nothing was done. Safe to repeat."""
    return bulk.change(session, platform, caller, body)


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


@router.post("/{id}/priority", operation_id="changePriority")
def change_priority(id: UUID, body: ChangePriority, session: SessionDep, caller: CallerDep) -> Job:
    """Let a waiting job be served earlier or later. 409 once it is no longer queued."""
    return service.change_priority(session, caller, id, body.priority)


@router.delete("/{id}", operation_id="deleteJob", status_code=status.HTTP_204_NO_CONTENT)
def delete_job(id: UUID, session: SessionDep, platform: PlatformDep) -> None:
    """Remove an ended job with its metrics, logs and files. 409 while it has not ended."""
    service.delete(session, platform, id)


@router.get("/{id}/events", operation_id="listEvents")
def events(
    id: UUID, session: SessionDep, after: Annotated[After, Query()] = 0,
    kind: Annotated[list[str], Query(description="Only these kinds; none given: all. A long job has thousands of cuts.")] = [],  # noqa: B006
    limit: Annotated[int | None, Query(ge=1, description="So many at most; the next page is `after` the last one's `seq`")] = None,
) -> Events:  # fmt: skip
    """What happened to the job, oldest first."""
    return service.events(session, id, after, kind, limit)


@router.get("/{id}/attempts", operation_id="listAttempts")
def attempts(id: UUID, session: SessionDep) -> Attempts:
    """The lives of the job, first to last."""
    return service.attempts(session, id)


@router.get("/{id}/processes", operation_id="listProcesses")
def processes(id: UUID, session: SessionDep) -> Processes:
    """All processes of all attempts, the latest attempt first."""
    return service.processes(session, id)
