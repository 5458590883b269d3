"""Endpoints for job processes, each with its own token: put files of its attempt, get those of the checkpoint it resumes from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import FileResponse

from backend.artifacts import admitting, checkpoints, service
from backend.artifacts.auth import ProcessDep
from backend.artifacts.schemas import StoredFile
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.web.stored_file import StoredFileResponse
from backend.web.uploads import UploadDep, binary_body
from gradstream.errors import Invalid
from gradstream.process.saving.resumed import ResumedFiles

router = APIRouter(prefix="/process", tags=["process"])


def admit(path: str, process: ProcessDep, request: Request, platform: PlatformDep) -> None:
    """Raises: Invalid: no size is declared; and as `admitting.require`."""
    declared = request.headers.get("content-length", "")
    if not declared.isdecimal():
        raise Invalid("A file comes with its size: send Content-Length.", path=path)
    admitting.admit(platform, process, path, int(declared))


Part = Annotated[str, Query(max_length=20, description="Part of a checkpoint", examples=["worker-0", "shard-1"])]
AdmittedDep = Annotated[None, Depends(admit)]
"""It stands before the body."""


@router.put(
    "/files/{path:path}",
    operation_id="putFile",
    openapi_extra=binary_body("application/octet-stream"),
)
def put_file(
    path: str,
    process: ProcessDep,
    _: AdmittedDep,
    body: UploadDep,
    x_sha256: Annotated[str, Header(pattern=r"^[0-9a-f]{64}$")],
    session: SessionDep,
    platform: PlatformDep,
) -> StoredFile:
    """Store a file of the attempt; the file that completes a checkpoint commits it. Before the body is read: 409 once the process
    has ended or its attempt is no longer the live one; 413, which ends the job, if it would have more bytes than a job may."""
    return service.put(session, platform, process, path, body, x_sha256)


@router.get("/resume", operation_id="listResumeFiles")
def resume_files(part: Part, process: ProcessDep, session: SessionDep, platform: PlatformDep) -> ResumedFiles:
    """The files of a part of the checkpoint that the attempt resumes from."""
    return ResumedFiles(files=checkpoints.resume_files(session, platform.files, process, part))


@router.get("/resume/{attempt}/{path:path}", operation_id="getResumeFile", response_class=FileResponse)
def resume_file(attempt: int, path: str, process: ProcessDep, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """A file of a checkpoint that the attempt resumes from, or of an earlier one that it rests on."""
    return StoredFileResponse(checkpoints.find_resume_file(session, platform.files, process, attempt, path))


@router.get("/start", operation_id="getStartFile", response_class=FileResponse)
def start_file(process: ProcessDep, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """The weights of another job that this one begins from."""
    return StoredFileResponse(service.start_file(session, platform.files, process))


@router.get("/start/{name}", operation_id="getStartCheckpointFile", response_class=FileResponse)
def start_checkpoint_file(name: str, process: ProcessDep, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """A file of the checkpoint of another job that this one starts from."""
    return StoredFileResponse(service.start_file(session, platform.files, process, name))


@router.get("/latest/{name}", operation_id="getLatestFile", response_class=FileResponse)
def latest_file(name: str, process: ProcessDep, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """The file of this name from the newest attempt that has stored one."""
    return StoredFileResponse(service.latest_file(session, platform.files, process, name))
