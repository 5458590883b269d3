from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter, status
from fastapi.responses import FileResponse

from backend.artifacts import export_reading, exports, service
from backend.artifacts.schemas import Artifacts, ExportList, JobFiles, NewExport
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.users.auth import CallerDep
from backend.web.stored_file import StoredFileResponse
from gradstream.api.history import JobExport
from gradstream.api.model.parameters import JobParameters
from gradstream.process.saving.exports import ExportManifest

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


@router.get("/parameters", operation_id="getParameters")
def parameters(id: UUID, session: SessionDep, platform: PlatformDep) -> JobParameters:
    """The parameters of the model, with their norms in worker 0 at the start, the last checkpoint or the end."""
    return service.parameters(session, platform.files, id)


@router.get("/files", operation_id="listFiles")
def files(id: UUID, session: SessionDep) -> JobFiles:
    """Everything that the processes have stored: checkpoints to resume from, the model, the result."""
    return service.stored(session, id)


@router.get("/files/{attempt}/{path:path}", operation_id="downloadFile", response_class=FileResponse, responses=_A_FILE)
def download_file(id: UUID, attempt: int, path: str, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """One file of an attempt, as an attachment; ranges are understood."""
    found, at = service.find_stored(session, platform.files, id, attempt, path)
    return StoredFileResponse(at, filename=f"{found.job_name}-{found.name}", headers={"X-Sha256": found.sha256})


@router.get("/exports", operation_id="listExports")
def list_exports(id: UUID, session: SessionDep) -> ExportList:
    """ExportList of the model and its embedding tables for serving. Old chains of a base and its deltas are removed."""
    return ExportList(items=export_reading.list_exports(session, id))


@router.post("/exports", operation_id="askForExport", status_code=status.HTTP_202_ACCEPTED)
def ask_for_export(
    id: UUID, session: SessionDep, caller: CallerDep, platform: PlatformDep, body: NewExport | None = None
) -> JobExport:
    """Ask the servers of a running job for an export. They copy it while training goes on; `listExports` says when it is committed.
    409 while the job is not running."""
    return exports.ask(session, platform, caller, id, base=bool(body and body.base))


@router.get("/exports/{number}", operation_id="getExport")
def get_export(id: UUID, number: int, session: SessionDep) -> ExportManifest:
    """The manifest of a committed export: its files with their checksums, and the export that it rests on."""
    return export_reading.find_manifest(session, id, number)


@router.get("/exports/{number}/{name}", operation_id="downloadExportFile", response_class=FileResponse, responses=_A_FILE)
def download_export_file(id: UUID, number: int, name: str, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """One file of an export; ranges are understood."""
    sha256, path = export_reading.find_file(session, platform.files, id, number, name)
    return StoredFileResponse(path, filename=name, headers={"X-Sha256": sha256})
