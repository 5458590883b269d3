"""How much one caller uses at a time. Counted by each API process for itself, in its event loop only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from backend.admission.rules import STREAM, Bound
from gradstream.errors import TooManyRequests


@dataclass(slots=True)
class _PlaceQueue:
    places: asyncio.Semaphore
    here: int = 0
    """Requests that have a place or wait for one."""


@dataclass(slots=True)
class Places:
    _lines: dict[tuple[Hashable, Bound], _PlaceQueue] = field(default_factory=dict)
    _shared: dict[Bound, asyncio.Semaphore] = field(default_factory=dict)

    @asynccontextmanager
    async def taken(self, caller: Hashable, bound: Bound) -> AsyncIterator[None]:
        """Hold one of the caller's places; first come, first served. Raises: TooManyRequests: too many wait already."""
        if not bound.at_once:
            yield
            return
        key = (caller, bound)
        line = self._lines.setdefault(key, _PlaceQueue(asyncio.Semaphore(bound.at_once)))
        if line.here >= bound.at_once + bound.waiting:
            raise _too_many(bound)
        line.here += 1
        try:
            async with line.places:
                yield
        finally:
            line.here -= 1
            if not line.here:
                del self._lines[key]

    @asynccontextmanager
    async def shared(self, bound: Bound) -> AsyncIterator[None]:
        """Hold one of the places of all callers; first come, first served."""
        if not bound.in_all:
            yield
            return
        async with self._shared.setdefault(bound, asyncio.Semaphore(bound.in_all)):
            yield


def _too_many(bound: Bound) -> TooManyRequests:
    most = bound.at_once + bound.waiting
    remedy = "Close pages or programs that follow jobs" if bound is STREAM else "Wait until earlier ones have ended"
    return TooManyRequests(f"You already have {most} {bound.name}, which is the limit. {remedy}, then try again.", limit=most)
