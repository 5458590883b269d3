from __future__ import annotations

from typing import Annotated, Any

import anyio
from anyio import CapacityLimiter
from fastapi import APIRouter, Path, status
from fastapi.responses import FileResponse

from backend.bundles import service
from backend.bundles.schemas import BundledText, FileDifferences, StoredBundle
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.users.auth import CallerDep
from backend.web.stored_file import StoredFileResponse
from backend.web.uploads import UploadDep, binary_body

router = APIRouter(prefix="/bundles", tags=["bundles"])

_ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}}
}

_READERS = CapacityLimiter(2)
"""Threads that read an upload: each has up to 64 MiB in memory, for up to a second."""

BundleHash = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
FilePath = Annotated[str, Path(max_length=1000, description="As `files` of the bundle lists it")]


@router.post(
    "",
    operation_id="uploadBundle",
    status_code=status.HTTP_201_CREATED,
    openapi_extra=binary_body("application/gzip"),
)
async def upload(caller: CallerDep, body: UploadDep, session: SessionDep, platform: PlatformDep) -> StoredBundle:
    """Store user code: a .tar.gz of a folder, at most 64 MiB. Sending the same bytes again answers the same."""
    return await anyio.to_thread.run_sync(service.store, session, platform.files, caller, body, limiter=_READERS)


@router.get("/{hash}", operation_id="getBundle")
def get_bundle(hash: BundleHash, session: SessionDep, platform: PlatformDep) -> StoredBundle:
    """The contents of a bundle; 404 tells a client that it must upload."""
    return service.show(session, platform.files, hash)


@router.get("/{hash}/archive", operation_id="downloadBundle", response_class=FileResponse, responses=_ARCHIVE)
def download(hash: BundleHash, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """The code itself, as the nodes get it: a .tar.gz of the folder."""
    path = service.archive(session, platform.files, hash)
    return StoredFileResponse(path, media_type="application/gzip", filename=f"code-{hash[:12]}.tar.gz")


@router.get("/{hash}/files/{path:path}", operation_id="getBundleFile")
async def get_file(hash: BundleHash, path: FilePath, session: SessionDep, platform: PlatformDep) -> BundledText:
    """One file of a bundle as text."""
    return await anyio.to_thread.run_sync(service.read_text, session, platform.files, hash, path, limiter=_READERS)


@router.get("/{hash}/differences/{other}", operation_id="compareBundles")
async def compare(hash: BundleHash, other: BundleHash, session: SessionDep, platform: PlatformDep) -> FileDifferences:
    """The files in which another bundle differs from this one, line by line."""
    return await anyio.to_thread.run_sync(service.differences, session, platform.files, hash, other, limiter=_READERS)
