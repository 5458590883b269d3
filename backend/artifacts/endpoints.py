from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import FileResponse

from backend.artifacts import service
from backend.artifacts.schemas import Artifacts
from backend.db import SessionDep
from backend.platform import PlatformDep

router = APIRouter(prefix="/jobs/{id}/artifacts", tags=["artifacts"])


@router.get("", operation_id="listArtifacts")
def artifacts(id: UUID, session: SessionDep) -> Artifacts:
    """The files that a job leaves: the model, the job file, the metrics."""
    return service.artifacts(session, id)


@router.get(
    "/{name}", operation_id="downloadArtifact", response_class=FileResponse,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)  # fmt: skip
def download(id: UUID, name: str, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """One file, as an attachment; ranges are understood."""
    artifact, path = service.find(session, platform.files, id, name)
    return FileResponse(path, filename=f"{artifact.job_name}-{artifact.name}", headers={"X-Sha256": artifact.sha256})
