from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response, status

from backend.db import SessionDep
from backend.jobs import labels, service, waiting
from backend.jobs.history_schemas import Attempts, Events, Processes, UncommittedChanges
from backend.jobs.label_schemas import JobEdit
from backend.jobs.lists import bulk, listing, tables
from backend.jobs.lists.asking import QueryDep
from backend.jobs.lists.fields import FieldName
from backend.jobs.lists.schemas import Bulk, BulkAnswer, JobCounts, JobFields, JobGroups
from backend.jobs.queue import view as queue_view
from backend.jobs.queue.schemas import ChangePriority
from backend.platform import PlatformDep
from backend.schemas import After, Cursor, Limit
from backend.users.auth import CallerDep
from backend.wakeups.hub import HubDep
from gradstream.api.jobs import Job, JobPage, Queue
from gradstream.events import EventKind

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.get("", operation_id="listJobs")
def list_jobs(
    session: SessionDep,
    query: QueryDep,
    limit: Annotated[Limit, Query()] = 50,
    cursor: Annotated[Cursor, Query()] = None,
) -> JobPage:
    """Jobs, newest first unless told otherwise. A cursor is good for the order that it was made in."""
    return listing.page(session, query, limit=limit, cursor=cursor)


@router.get("/counts", operation_id="countJobs")
def count_jobs(session: SessionDep) -> JobCounts:
    """How many jobs there are of each status, strategy and user."""
    return listing.counts(session)


@router.get("/fields", operation_id="listJobFields")
def list_fields(session: SessionDep, query: QueryDep) -> JobFields:
    """Settings and results of the newest 200 jobs: fields for `column`, `by` and `where`."""
    return tables.fields(session, query)


@router.get("/groups", operation_id="groupJobs")
def group_jobs(session: SessionDep, query: QueryDep, group: Annotated[FieldName, Query(description="A field")]) -> JobGroups:
    """The largest 200 groups of jobs with the same value of a field, with count, mean and spread of each `column`."""
    return tables.groups(session, query, group)


@router.get("/table", operation_id="exportJobs", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def export_jobs(session: SessionDep, query: QueryDep) -> Response:
    """The id, the name and each `column` of all jobs that fit, at most 20,000, as CSV in the order of the list."""
    headers = {"Content-Disposition": 'attachment; filename="jobs.csv"'}
    return Response(tables.as_csv(session, query), media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/queue", operation_id="getQueue")
def get_queue(session: SessionDep) -> Queue:
    """The jobs that wait, in their order and with the reason; and the jobs that hold the machines."""
    return queue_view.read(session)


@router.post("/bulk", operation_id="changeJobs")
def change_jobs(body: Bulk, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> BulkAnswer:
    """Stop, delete, archive or tag many jobs at once. A job that refuses says so in its item, and the others are changed. An error
    means that nothing was done. Safe to repeat."""
    return bulk.change(session, platform, caller, body)


@router.get("/{id}", operation_id="getJob")
async def get_job(
    id: UUID,
    platform: PlatformDep,
    hub: HubDep,
    wait: Annotated[float, Query(ge=0, le=30, description="Seconds to wait for a change")] = 0,
    since: Annotated[int, Query(ge=-1, description="The last `seq` of the job that the caller has seen")] = -1,
) -> Job:
    """One job. With `wait` and `since` it answers when the job's `seq` is above `since`, or when the wait is over."""
    return await waiting.changed_job(platform, hub, id, since=since, seconds=wait)


@router.patch("/{id}", operation_id="editJob")
def edit_job(id: UUID, body: JobEdit, session: SessionDep, caller: CallerDep) -> Job:
    """Change its name, tags or note, or archive it. The job file stays as it was submitted. Safe to repeat."""
    return labels.edit(session, caller, id, body)


@router.post("/{id}/stop", operation_id="stopJob")
def stop_job(id: UUID, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> Job:
    """Ask a job to stop: it writes a last checkpoint and ends as cancelled, within about half a minute. Safe to repeat."""
    return service.stop(session, platform, caller, id)


@router.post("/{id}/priority", operation_id="changePriority")
def change_priority(id: UUID, body: ChangePriority, session: SessionDep, caller: CallerDep) -> Job:
    """Let a waiting job be served earlier or later. 409 once it is no longer queued."""
    return service.change_priority(session, caller, id, body.priority)


@router.delete("/{id}", operation_id="deleteJob", status_code=status.HTTP_204_NO_CONTENT)
def delete_job(id: UUID, session: SessionDep, platform: PlatformDep, caller: CallerDep) -> None:
    """Remove an ended job with its metrics, logs and files. 409 while it has not ended."""
    service.delete(session, platform, caller, id)


@router.get("/{id}/events", operation_id="listEvents")
def events(
    id: UUID,
    session: SessionDep,
    after: Annotated[After, Query()] = 0,
    kind: Annotated[
        list[EventKind], Query(description="Only these kinds; none given: all. A long job has thousands of checkpoints.")
    ] = [],  # noqa: B006
    limit: Annotated[
        int | None, Query(ge=1, description="Events per page; for the next page give the last `seq` as `after`")
    ] = None,
) -> Events:
    """The events of the job, oldest first."""
    return service.events(session, id, after, kind, limit)


@router.get("/{id}/uncommitted", operation_id="listUncommittedChanges")
def uncommitted_changes(id: UUID, session: SessionDep) -> UncommittedChanges:
    """The submitted files that differed from the commit that the job's `origin` names."""
    return service.uncommitted_changes(session, id)


@router.get("/{id}/attempts", operation_id="listAttempts")
def attempts(id: UUID, session: SessionDep) -> Attempts:
    """The attempts of the job, first to last."""
    return service.attempts(session, id)


@router.get("/{id}/processes", operation_id="listProcesses")
def processes(id: UUID, session: SessionDep) -> Processes:
    """All processes of all attempts, the latest attempt first."""
    return service.processes(session, id)
