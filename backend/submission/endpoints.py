from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response, status

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.submission import service
from backend.submission.job_body import DESCRIBED, SubmitDep, ValidateDep
from backend.submission.schemas import IdempotencyKey, Validated
from backend.users.auth import CallerDep
from gradstream.api.jobs import Job

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.post("", operation_id="submitJob", status_code=status.HTTP_201_CREATED, openapi_extra=DESCRIBED)
def submit_job(
    body: SubmitDep,
    response: Response,
    session: SessionDep,
    caller: CallerDep,
    platform: PlatformDep,
    idempotency_key: Annotated[IdempotencyKey, Header()] = None,
) -> Job:
    """Submit a job. It is queued when this returns, not running. The body is JSON, or a job file in YAML as it is, with the bundle
    and values to set over the file in the query. Mistakes in YAML are named with line and column."""
    most = platform.settings.unended_jobs
    job = service.submit(session, platform.files, caller, body, idempotency_key, unended_jobs=most)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job


@router.post("/validate", operation_id="validateJob", openapi_extra=DESCRIBED)
def validate(body: ValidateDep, session: SessionDep, platform: PlatformDep) -> Validated:
    """Check a job file, and the code of a bundle as far as its text says, without submitting it. Mistakes are part of the
    response, each with its place in the file. Nothing of the code is run. A YAML body is the job file itself."""
    return service.validate(session, platform.files, body)
