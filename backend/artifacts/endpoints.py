from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import FileResponse

from backend.artifacts import service
from backend.artifacts.schemas import Artifacts, JobFiles
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.web.stored_file import StoredFileResponse

router = APIRouter(prefix="/jobs/{id}", tags=["artifacts"])

_A_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get("/artifacts", operation_id="listArtifacts")
def artifacts(id: UUID, session: SessionDep) -> Artifacts:
    """The files that a job leaves: the model, the job file, the metrics."""
    return service.artifacts(session, id)


@router.get("/artifacts/{name}", operation_id="downloadArtifact", response_class=FileResponse, responses=_A_FILE)
def download(id: UUID, name: str, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """One file, as an attachment; ranges are understood."""
    artifact, path = service.find(session, platform.files, id, name)
    return StoredFileResponse(path, filename=f"{artifact.job_name}-{artifact.name}", headers={"X-Sha256": artifact.sha256})


@router.get("/files", operation_id="listFiles")
def files(id: UUID, session: SessionDep) -> JobFiles:
    """Everything that the processes have stored: checkpoints to resume from, the model, the result."""
    return service.stored(session, id)


@router.get("/files/{attempt}/{path:path}", operation_id="downloadFile", response_class=FileResponse, responses=_A_FILE)
def download_file(id: UUID, attempt: int, path: str, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """One file of an attempt, as an attachment; ranges are understood."""
    found, at = service.find_stored(session, platform.files, id, attempt, path)
    return StoredFileResponse(at, filename=f"{found.job_name}-{found.name}", headers={"X-Sha256": found.sha256})
