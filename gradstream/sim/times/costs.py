"""Costs in virtual time, and the times of events that follow from them.

    worker:  each mini-batch takes `step` times a draw of `speeds`; it goes on at once after it has sent something
    up:      a message waits for those before it on this worker's link, then takes bytes / bandwidth, then `latency`
    server:  one entry of the log after another, `apply` for each push
    down:    like up; the worker that waits goes on when the response is there

So computing while a message is on its way costs no extra time: that is how GEO-SGD hides transfers. Setting up (the proposal of
theta_0, joining) is free; the first center costs its transfer. Messages without a vector take `latency` alone.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradstream.center.entries import Entry, Init, Join, Payload, Push, Response
from gradstream.center.tables.payload import nbytes
from gradstream.codecs.base import Codec
from gradstream.sim.times.speeds import ConstantSpeeds, Speeds, parse
from gradstream.spec import JobSpec


@dataclass(frozen=True)
class Costs:
    speeds: Speeds | str = field(default_factory=ConstantSpeeds)
    """A distribution, or its text form: `lognormal:0.3`."""
    step: float = 1.0
    """Virtual seconds of one mini-batch at speed 1."""
    latency: float = 0.0
    """Seconds of a message, one way."""
    bandwidth: float | None = None
    """Bytes per second of each worker's link, in each direction; None: unlimited."""
    apply: float = 0.0
    """Seconds of the server for each push."""

    def __post_init__(self) -> None:
        """Raises: ValueError."""
        if isinstance(self.speeds, str):
            object.__setattr__(self, "speeds", parse(self.speeds))
        if min(self.step, self.latency, self.apply) < 0:
            raise ValueError("costs: step, latency and apply must not be below 0")
        if self.bandwidth is not None and self.bandwidth <= 0:
            raise ValueError("costs: bandwidth must be above 0; leave it out for an endless one")

    @property
    def distribution(self) -> Speeds:
        assert isinstance(self.speeds, Speeds)
        return self.speeds


class MovedBytes(NamedTuple):
    """Bytes of vectors that have travelled."""

    pushed: int
    pulled: int


class Meter:
    """Where the time of each worker went."""

    def __init__(self, spec: JobSpec) -> None:
        self._codec, self._pull_codec = spec.codec, spec.pull_codec
        self.compute: dict[int, float] = defaultdict(float)
        self.wait: dict[int, float] = defaultdict(float)
        """For responses, at the gate, and for their transfer; not before the first center."""
        self.pushed = self.pulled = 0

    def sent(self, payload: Payload | None) -> int:
        size = size_of(payload, self._codec)
        self.pushed += size
        return size

    def given(self, payload: Payload | None) -> int:
        size = size_of(payload, self._pull_codec)
        self.pulled += size
        return size


def size_of(payload: Payload | None, codec: Codec) -> int:
    """Bytes on the wire: of the vector, coded, and of buffers and rows beside it, which travel as they are."""
    if payload is None:
        return 0
    beside = sum(t.numel() * t.element_size() for t in payload.buffers or ()) + nbytes(payload.rows or {})
    beside += nbytes(payload.asks or {})
    return codec.nbytes(payload.x.numel(), payload.x.element_size()) + beside


class CostedTimes:
    """Clocks of workers, links and server under `Costs`."""

    def __init__(self, costs: Costs, spec: JobSpec, seed: int) -> None:
        """Raises: ValueError."""
        workers = spec.roles.worker.count
        costs.distribution.check(workers)
        self._at_once = spec.parallelism
        """Mini-batches of a worker that its threads or peers compute at once, as if each had a core."""
        self.meter = Meter(spec)
        self._costs, self._workers = costs, workers
        self._random = [random.Random(f"{seed}/{rank}") for rank in range(workers)]
        self._clock = [0.0] * workers
        self._up_free = [0.0] * workers
        self._down_free = [0.0] * workers
        self._began = [False] * workers
        self._server_free = 0.0
        self._resumed: dict[int, float] = {}
        """Downward links at the checkpoint, of ranks that have not begun yet."""

    def born(self, rank: int, now: float) -> None:
        """A new incarnation of the rank begins."""
        self._clock[rank] = self._up_free[rank] = now
        self._down_free[rank] = self._resumed.pop(rank, now)
        self._began[rank] = False

    def computed(self, rank: int) -> None:
        """The rank has made a mini-batch."""
        takes = self._costs.step * self._costs.distribution.factor(rank, self._workers, self._random[rank]) / self._at_once
        self._clock[rank] += takes
        self.meter.compute[rank] += takes

    def reaches_log(self, rank: int, entry: Entry, payload: Payload | None, now: float) -> float:
        if isinstance(entry, Init | Join):
            return now
        size = self.meter.sent(payload)
        self._up_free[rank] = max(self._clock[rank], self._up_free[rank]) + self._transfer(size)
        return self._up_free[rank] + self._costs.latency

    def handled(self, entry: Entry, now: float) -> float:
        """When the server has done with what reaches the log now."""
        self._server_free = max(now, self._server_free) + (self._costs.apply if isinstance(entry, Push) else 0.0)
        return self._server_free

    def arrives(self, rank: int, response: Response, given: float) -> float:
        size = self.meter.given(response.payload)
        self._down_free[rank] = max(given, self._down_free[rank]) + self._transfer(size)
        return self._down_free[rank] + self._costs.latency

    def took(self, rank: int, arrived: float) -> None:
        """The rank has read a response: it waited for it, unless it was there already."""
        waited = max(0.0, arrived - self._clock[rank])
        self._clock[rank] += waited
        if self._began[rank]:
            self.meter.wait[rank] += waited
        self._began[rank] = True

    def links(self) -> list[float]:
        """When the link down to each rank will be free."""
        return list(self._down_free)

    def state(self) -> dict[str, Any]:
        """At a checkpoint, all stand at a boundary and have nothing on its way up: clocks go on with the response to it."""
        return {"random": [generator.getstate() for generator in self._random]}

    def load(self, state: dict[str, Any], links: list[float], now: float) -> None:
        self._server_free = now
        self._resumed = dict(enumerate(links))
        for generator, at in zip(self._random, state["random"], strict=True):
            generator.setstate(at)

    def _transfer(self, size: int) -> float:
        return size / self._costs.bandwidth if self._costs.bandwidth else 0.0
