"""Looking up credentials in the database: once for all requests that wait with the same ones, and apart from strangers' guesses."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter

Found = TypeVar("Found")

_KNOWN = 4096
"""Credentials that are remembered as good, the latest ones."""
_THREADS = 4
"""Threads that look up credentials which were good before, and as many for all others."""


class Lookups:
    """Look-ups of one kind of credentials. Belongs to the event loop."""

    def __init__(self) -> None:
        self._good: OrderedDict[bytes, None] = OrderedDict()
        self._lanes = {good: CapacityLimiter(_THREADS) for good in (True, False)}
        self._threads = CapacityLimiter(math.inf)
        self._waiting: dict[bytes, asyncio.Task[Any]] = {}

    async def find(self, digest: bytes, look: Callable[[], Found]) -> Found:
        """Return what `look` finds for the credentials of this digest. It begins after this call, so revoked ones are not found.

        Raises what `look` raises."""
        task = self._waiting.get(digest)
        if task is None:
            task = self._waiting[digest] = asyncio.create_task(self._look(digest, look), name="credentials")
            task.add_done_callback(_forget_error)
        found: Found = await asyncio.shield(task)
        return found

    async def _look(self, digest: bytes, look: Callable[[], Found]) -> Found:
        async with self._lanes[digest in self._good]:
            del self._waiting[digest]  # who comes from now on has a look-up that begins later
            try:
                found = await anyio.to_thread.run_sync(look, limiter=self._threads)
            except Exception:
                self._good.pop(digest, None)
                raise
        self._good[digest] = None
        self._good.move_to_end(digest)
        if len(self._good) > _KNOWN:
            self._good.popitem(last=False)
        return found


def _forget_error(task: asyncio.Task[Any]) -> None:
    """Mark the error as retrieved: the waiting requests raise it, and all of them may have gone."""
    if not task.cancelled():
        task.exception()
