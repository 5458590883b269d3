"""Streams are told in turns."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from backend.stream.turns import _AT_ONCE, Turns


def test_a_few_are_told_in_each_turn_and_others_run_in_between() -> None:
    async def scenario() -> list[int]:
        turns, told, seen = Turns(), 0, list[int]()

        async def follow() -> None:
            nonlocal told
            await turns.wait()
            told += 1

        followers = [asyncio.create_task(follow()) for _ in range(10 * _AT_ONCE)]
        gone = followers.pop()
        await asyncio.sleep(0)
        gone.cancel()
        turns.tell()
        while not all(each.done() for each in followers):
            seen.append(told)
            await asyncio.sleep(0)
        assert not turns._waiting
        return seen

    seen = asyncio.run(scenario())
    assert max(after - before for before, after in pairwise(seen)) <= _AT_ONCE
    assert len(seen) >= 10
