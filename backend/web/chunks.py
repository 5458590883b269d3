"""Bodies of any length, computed piece by piece while the client reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import anyio
from anyio import CapacityLimiter

T = TypeVar("T", bytes, str)

_COMPUTING = CapacityLimiter(2)
"""Pieces that are computed at once, for all callers. More would keep the interpreter from short answers."""


async def compute_chunks(chunks: Iterator[T]) -> AsyncIterator[T]:
    """Yield the pieces of a generator that computes and reads Postgres. Threads compute them; a slow reader holds none."""
    while (chunk := await anyio.to_thread.run_sync(next, chunks, None, limiter=_COMPUTING)) is not None:
        yield chunk
