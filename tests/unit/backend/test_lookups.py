"""Credentials are looked up once for all who wait with them, and never in a look-up that began before they came."""

from __future__ import annotations

import asyncio
import threading

import pytest

from backend.admission.lookups import _THREADS, Lookups
from gradstream.errors import NotSignedIn


def test_who_waits_shares_a_look_up_and_who_comes_later_has_one_that_begins_later() -> None:
    began, go_on, answers = list[int](), threading.Event(), iter(range(100))

    def look() -> int:
        mine = next(answers)
        began.append(mine)
        assert go_on.wait(10)
        return mine

    async def scenario() -> tuple[int, list[int]]:
        lookups = Lookups()
        first = asyncio.create_task(lookups.find(b"a", look))
        while not began:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(lookups.find(b"b" if at < _THREADS - 1 else b"a", look)) for at in range(_THREADS + 9)]
        await asyncio.sleep(0.01)
        go_on.set()
        return await first, await asyncio.gather(*others)

    first, later = asyncio.run(scenario())
    assert first == 0
    assert len(began) == 3, "one for each of the two credentials, after the one that had begun"
    assert set(later) == {1, 2}


def test_strangers_take_no_thread_from_those_who_are_known() -> None:
    go_on = threading.Event()

    def guess() -> None:
        go_on.wait(10)
        raise NotSignedIn("not known")

    async def scenario() -> str:
        lookups = Lookups()
        assert await lookups.find(b"known", lambda: "found") == "found"
        strangers = [asyncio.create_task(lookups.find(bytes([at]), guess)) for at in range(5 * _THREADS)]
        await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            found = await lookups.find(b"known", lambda: "found again")
        go_on.set()
        assert all(isinstance(each, NotSignedIn) for each in await asyncio.gather(*strangers, return_exceptions=True))
        return found

    assert asyncio.run(scenario()) == "found again"


def test_credentials_that_ended_are_known_no_more() -> None:
    def revoked() -> str:
        raise NotSignedIn("revoked")

    async def scenario() -> None:
        lookups = Lookups()
        await lookups.find(b"a", lambda: "found")
        assert b"a" in lookups._good
        with pytest.raises(NotSignedIn):
            await lookups.find(b"a", revoked)
        assert b"a" not in lookups._good

    asyncio.run(scenario())
