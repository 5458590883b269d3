"""Waking of streams when there is something new: a few in each turn of the event loop, so that requests get theirs in between."""

from __future__ import annotations

import asyncio

_AT_ONCE = 16
TICK = 0.25
"""Seconds between two reads of what streams follow."""
_EACH = 0.004
"""Seconds more between two reads for each stream above a few, so that many take no larger share of the event loop."""


def tick_of(streams: int) -> float:
    """Seconds between two reads for so many streams."""
    return max(TICK, _EACH * streams)


class Turns:
    """The streams that wait for the next change. Belongs to the event loop."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}

    async def wait(self) -> None:
        """Return after the next `tell`."""
        told = asyncio.get_running_loop().create_future()
        self._waiting[told] = None
        try:
            await told
        finally:
            self._waiting.pop(told, None)

    def tell(self) -> None:
        waiting, self._waiting = list(self._waiting), {}
        _tell(asyncio.get_running_loop(), waiting)


def _tell(loop: asyncio.AbstractEventLoop, waiting: list[asyncio.Future[None]]) -> None:
    for each in waiting[:_AT_ONCE]:
        if not each.done():
            each.set_result(None)
    if len(waiting) > _AT_ONCE:
        loop.call_soon(_tell, loop, waiting[_AT_ONCE:])
