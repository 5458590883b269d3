"""Streams that have nothing to say, and say that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from fastapi.sse import ServerSentEvent

from backend.stream.pulse import ALIVE, with_pulse

NEWS = ServerSentEvent(event="job", raw_data="{}")


def test_a_silent_stream_is_alive_and_its_events_come_in_order() -> None:
    async def quiet(go_on: asyncio.Event) -> AsyncGenerator[ServerSentEvent, None]:
        yield NEWS
        await go_on.wait()
        yield NEWS

    async def look() -> None:
        go_on = asyncio.Event()
        heard = []
        async for event in with_pulse(quiet(go_on), every=0.001):
            heard.append(event)
            if len(heard) == 4:
                go_on.set()
        assert heard[:4] == [NEWS, ALIVE, ALIVE, ALIVE]
        assert heard[-1] is NEWS
        assert set(map(id, heard[4:-1])) <= {id(ALIVE)}

    asyncio.run(look())


def test_who_goes_away_ends_what_was_followed() -> None:
    ended = []

    async def endless(wait: bool) -> AsyncGenerator[ServerSentEvent, None]:
        try:
            while True:
                yield NEWS
                if wait:
                    await asyncio.Event().wait()
        finally:
            ended.append(wait)

    async def look(wait: bool) -> None:
        stream = with_pulse(endless(wait), every=0.001)
        assert await anext(stream) is NEWS
        assert await anext(stream) is (ALIVE if wait else NEWS)
        await stream.aclose()

    for wait in (True, False):
        asyncio.run(look(wait))
    assert ended == [True, False]
