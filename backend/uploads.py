"""Request bodies that are too large for memory: streamed to a file before the endpoint, and its transaction, begin."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from backend.platform import Platform
from gradstream.errors import TooLarge

_WRITE_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    path: Path
    """Removed after the request, unless the endpoint moved it."""
    size: int
    sha256: str


def body_of(limit: int) -> Callable[[Request], AsyncIterator[Upload]]:
    """A dependency: the request's body as a file of at most `limit` bytes."""

    async def body(request: Request) -> AsyncIterator[Upload]:
        platform: Platform = request.app.state.platform
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise _too_large(limit)
        path = platform.files.temporary()
        try:
            yield await _receive(request, path, limit)
        finally:
            path.unlink(missing_ok=True)

    return body


async def _receive(request: Request, path: Path, limit: int) -> Upload:
    hasher, size, waiting = hashlib.sha256(), 0, bytearray()

    def write(data: bytes) -> None:
        hasher.update(data)
        file.write(data)

    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            waiting += chunk
            if len(waiting) >= _WRITE_SIZE:
                await run_in_threadpool(write, bytes(waiting))
                waiting.clear()
        await run_in_threadpool(write, bytes(waiting))
    return Upload(path, size, hasher.hexdigest())


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the {limit:,} bytes allowed here.", limit=limit)


def binary_body(media_type: str) -> dict[str, Any]:
    """Describes such a body in OpenAPI."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}
