"""How long workers compute, in virtual time: the only thing that decides who comes before whom."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

Schedule = Literal["round-robin", "random"]


class ServiceTimes:
    """Time between the moment a worker may begin and its next push; everything else that it does takes none.

    round-robin: n units, and rank + 1 for the first push: without a gate, push k of worker i comes at k * n + i + 1.
    random: exponential with mean 1, drawn from a generator of the worker's own.
    A worker of speed 2 takes half of the time."""

    def __init__(self, schedule: Schedule, workers: int, seed: int, speeds: Sequence[float]) -> None:
        if speeds and (len(speeds) != workers or min(speeds) <= 0):
            raise ValueError(f"speeds must be {workers} numbers above 0, one per worker")
        self._schedule, self._workers = schedule, workers
        self._speeds = speeds or [1.0] * workers
        self._drawn = [0] * workers
        self._random = [random.Random(f"{seed}/{rank}") for rank in range(workers)]

    def draw(self, rank: int) -> float:
        even = self._workers if self._drawn[rank] else rank + 1
        self._drawn[rank] += 1
        time = self._random[rank].expovariate(1.0) if self._schedule == "random" else even
        return time / self._speeds[rank]

    def state(self) -> dict[str, Any]:
        return {"drawn": list(self._drawn), "random": [generator.getstate() for generator in self._random]}

    def load(self, state: dict[str, Any]) -> None:
        self._drawn = list(state["drawn"])
        for generator, at in zip(self._random, state["random"], strict=True):
            generator.setstate(at)
