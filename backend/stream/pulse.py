"""A word now and then from a stream that has nothing to say: who hears none knows that it is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi.sse import ServerSentEvent

EVERY = 3.0
"""Seconds without an event after which `alive` is sent. The comments that keep a connection open do not reach a page's code."""
ALIVE = ServerSentEvent(event="alive", raw_data="{}")

Events = AsyncGenerator[ServerSentEvent, None]


async def with_pulse(events: Events, every: float = EVERY) -> Events:
    """The events as they come, and `ALIVE` after each `every` seconds in which none did."""
    async with aclosing(events):
        while True:
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({coming}, timeout=every))[0]:
                    yield ALIVE
            finally:
                if coming.cancel():
                    await asyncio.wait({coming})  # an iterator that runs cannot be closed
            event = coming.result()
            if event is None:
                return
            yield event
