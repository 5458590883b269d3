from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, status
from fastapi.responses import FileResponse

from backend.bundles import service
from backend.bundles.schemas import Bundle
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.uploads import UploadDep, binary_body
from backend.users.auth import CallerDep

router = APIRouter(prefix="/bundles", tags=["bundles"])

_ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}}
}

BundleHash = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


@router.post(
    "", operation_id="uploadBundle", status_code=status.HTTP_201_CREATED,
    openapi_extra=binary_body("application/gzip"),
)  # fmt: skip
def upload(caller: CallerDep, body: UploadDep, session: SessionDep, platform: PlatformDep) -> Bundle:
    """Store user code: a .tar.gz of a folder, at most 64 MiB. Sending the same bytes again answers the same."""
    return service.store(session, platform.files, caller, body)


@router.get("/{hash}", operation_id="getBundle")
def get_bundle(hash: BundleHash, session: SessionDep, platform: PlatformDep) -> Bundle:
    """What is in a bundle; 404 tells a client that it must upload."""
    return service.show(session, platform.files, hash)


@router.get("/{hash}/archive", operation_id="downloadBundle", response_class=FileResponse, responses=_ARCHIVE)
def download(hash: BundleHash, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """The code itself, as the nodes get it: a .tar.gz of the folder."""
    path = service.archive(session, platform.files, hash)
    return FileResponse(path, media_type="application/gzip", filename=f"code-{hash[:12]}.tar.gz")
