"""The schedules without costs: a push takes a unit of time, however many mini-batches it holds, and all else takes none."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from gradstream.center.entries import Entry, Payload, Push, Response
from gradstream.sim.times.costs import Meter
from gradstream.spec import JobSpec

Schedule = Literal["round-robin", "random"]


class Times(Protocol):
    """The times of events, which decide their order. See `gradstream.sim.times.costs.CostedTimes`."""

    meter: Meter

    def born(self, rank: int, now: float) -> None: ...
    def computed(self, rank: int) -> None: ...
    def reaches_log(self, rank: int, entry: Entry, payload: Payload | None, now: float) -> float: ...
    def handled(self, entry: Entry, now: float) -> float: ...
    def arrives(self, rank: int, response: Response, given: float) -> float: ...
    def took(self, rank: int, arrived: float) -> None: ...
    def links(self) -> list[float]: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, state: dict[str, Any], links: list[float], now: float) -> None: ...


class ServiceTimes:
    """Time between the moment a worker may begin and its next push.

    round-robin: n units, and rank + 1 for the first push: without a gate, push k of worker i comes at k * n + i + 1.
    random: exponential with mean 1, drawn from a generator of the worker's own.
    A worker of speed 2 takes half of the time."""

    def __init__(self, schedule: Schedule, spec: JobSpec, seed: int, speeds: Sequence[float]) -> None:
        workers = spec.roles.worker.count
        if speeds and (len(speeds) != workers or min(speeds) <= 0):
            raise ValueError(f"speeds must be {workers} numbers above 0, one per worker")
        self.meter = Meter(spec)
        self._schedule, self._workers = schedule, workers
        self._speeds = speeds or [1.0] * workers
        self._drawn = [0] * workers
        self._random = [random.Random(f"{seed}/{rank}") for rank in range(workers)]

    def born(self, rank: int, now: float) -> None:
        """Do nothing: all incarnations have the same times."""

    def computed(self, rank: int) -> None:
        """Do nothing: the time of a push is drawn when it is sent."""

    def reaches_log(self, rank: int, entry: Entry, payload: Payload | None, now: float) -> float:
        self.meter.sent(payload)
        if not isinstance(entry, Push):
            return now
        takes = self._draw(rank)
        self.meter.compute[rank] += takes
        return now + takes

    def handled(self, entry: Entry, now: float) -> float:
        return now

    def arrives(self, rank: int, response: Response, given: float) -> float:
        self.meter.given(response.payload)
        return given

    def took(self, rank: int, arrived: float) -> None:
        """Do nothing: waiting does not count here."""

    def links(self) -> list[float]:
        return [0.0] * self._workers

    def state(self) -> dict[str, Any]:
        return {"drawn": list(self._drawn), "random": [generator.getstate() for generator in self._random]}

    def load(self, state: dict[str, Any], links: list[float], now: float) -> None:
        self._drawn = list(state["drawn"])
        for generator, at in zip(self._random, state["random"], strict=True):
            generator.setstate(at)

    def _draw(self, rank: int) -> float:
        even = self._workers if self._drawn[rank] else rank + 1
        self._drawn[rank] += 1
        time = self._random[rank].expovariate(1.0) if self._schedule == "random" else even
        return time / self._speeds[rank]
