"""Request bodies that are too large for memory: streamed to a file before the endpoint, and its transaction, begin."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from backend.platform import Platform

_WRITE_SIZE, _WRITE_EVERY = 1 << 20, 60.0
"""Bytes, and seconds: a file on its way changes often enough to be no stray (`backend.storage`)."""


@dataclass(frozen=True, slots=True)
class Upload:
    path: Path
    """Removed after the request, unless the endpoint moved it."""
    size: int
    sha256: str


async def uploaded(request: Request) -> AsyncIterator[Upload]:
    """A dependency: the request's body as a file. `backend.admission` bounds its size."""
    platform: Platform = request.app.state.platform
    path = platform.files.temporary()
    try:
        yield await _receive(request, path)
    finally:
        path.unlink(missing_ok=True)


UploadDep = Annotated[Upload, Depends(uploaded)]


async def _receive(request: Request, path: Path) -> Upload:
    hasher, size, waiting, written = hashlib.sha256(), 0, bytearray(), time.monotonic()

    def write(data: bytes) -> None:
        hasher.update(data)
        file.write(data)
        file.flush()

    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            waiting += chunk
            if len(waiting) >= _WRITE_SIZE or time.monotonic() > written + _WRITE_EVERY:
                await run_in_threadpool(write, bytes(waiting))
                waiting.clear()
                written = time.monotonic()
        await run_in_threadpool(write, bytes(waiting))
    return Upload(path, size, hasher.hexdigest())


def binary_body(media_type: str) -> dict[str, Any]:
    """Describes such a body in OpenAPI."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}
