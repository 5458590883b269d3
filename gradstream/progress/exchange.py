"""The cost of a job's exchanges, computed from its metrics as they arrive: the time of a push by cause, the traffic, the savings
of a codec, and the load of each shard. The control plane and `gradstream train` both use it; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point

_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))


class Exchange(BaseModel, frozen=True):
    """The exchange figures of one attempt; means are over the pushes of all workers."""

    pushes: int = Field(description="Pushes behind these means")
    compute: float = Field(description="Seconds of a push: gradients and local steps")
    data: float = Field(description="Seconds of a push: waiting for mini-batches")
    send: float = Field(description="Seconds of a push: copying, encoding and sending it")
    wait: float = Field(description="Seconds of a push: waiting for responses and at the gate")
    sent_bytes: float = Field(description="Bytes of a push that were sent; 0 where vectors lie in shared memory")
    raw_bytes: float = Field(description="Bytes of a push without a codec")
    received_bytes: float = Field(description="Bytes received in response to a push")
    error: float | None = Field(
        description="L2 norm of a lossy codec's residual over that of the push: recent mean over the workers"
    )

    @property
    def saved(self) -> float | None:
        """Share of the bytes that the codec saves; None if nothing was sent."""
        return 1 - self.sent_bytes / self.raw_bytes if self.raw_bytes else None

    @property
    def time(self) -> str:
        """`compute 12.1 ms, data 0.3 ms, send 0.2 ms, wait 4.0 ms`"""
        parts = (("compute", self.compute), ("data", self.data), ("send", self.send), ("wait", self.wait))
        return ", ".join(f"{name} {_milliseconds(seconds)} ms" for name, seconds in parts)

    def traffic(self, codec: str) -> str:
        """`sent 25.1 of 100.0 kB, 75% saved by int8, error 0.31`; where vectors lie in shared memory, that none were sent"""
        if self.saved is None:
            return "no bytes over the network; send is the time of copying into shared memory"
        unit, size = next(((unit, size) for unit, size in _UNITS if self.raw_bytes >= 10 * size), _UNITS[-1])
        digits = 0 if unit == "bytes" else 1
        sent = f"sent {self.sent_bytes / size:,.{digits}f} of {self.raw_bytes / size:,.{digits}f} {unit}"
        saved = f"{self.saved:.0%} saved by {codec}" if codec != "raw" else ""
        error = f"error {self.error:.2g}" if self.error is not None else ""
        return ", ".join(filter(None, (sent, saved, error)))


class ShardLoad(BaseModel, frozen=True):
    """The load of one shard, in one attempt."""

    rank: int
    slice_bytes: int | None = Field(description="Its slice of the center")
    apply: float | None = Field(description="Mean seconds to decode and apply an entry of the log")
    busy: float | None = Field(description="Share of the time that it worked since it received its slice")
    queue: int | None = Field(description="Longest queue, in entries")


def describe_empty_shards(shards: Sequence[ShardLoad]) -> str | None:
    """Return how many servers would be enough; None where every shard holds a slice, or none has received one."""
    empty = sum(shard.slice_bytes == 0 for shard in shards)
    enough = len(shards) - empty
    if not empty or not enough:
        return None
    servers, hold = "1 server is" if enough == 1 else f"{enough} servers are", "holds" if empty == 1 else "hold"
    return f"{servers} enough: the model is so small that {empty} of {len(shards)} shards {hold} nothing"


class ShardSums(BaseModel, frozen=True):
    """The running sums of one shard."""

    slice_bytes: int | None = None
    largest_bytes: int = 0
    """Bytes of its largest parameter; 0: its rule needs no whole parameters, or it is not known."""
    since: float = 0.0
    """The time when it had its slice, by its clock."""
    until: float = 0.0
    entries: int = 0
    seconds: float = 0.0
    """Seconds that it worked on them."""
    queue: int | None = None

    def after(self, point: Point) -> ShardSums:
        match point.name:
            case metrics.SLICE.name:
                return self.model_copy(update={"slice_bytes": max(0, int(point.value)), "since": point.time})
            case metrics.LARGEST.name:
                return self.model_copy(update={"largest_bytes": max(0, int(point.value))})
            case metrics.APPLY.name:  # the mean of those since its last report
                seconds = self.seconds + point.value * (point.step - self.entries)
                return self.model_copy(update={"entries": point.step, "seconds": seconds, "until": point.time})
            case metrics.QUEUE.name:
                return self.model_copy(update={"queue": max(self.queue or 0, int(point.value))})
            case _:
                return self

    def load(self, rank: int) -> ShardLoad:
        lasted = self.until - self.since
        return ShardLoad(
            rank=rank,
            slice_bytes=self.slice_bytes,
            apply=self.seconds / self.entries if self.entries else None,
            busy=min(1.0, self.seconds / lasted) if self.since and lasted > 0 else None,
            queue=self.queue,
        )


class Figures(BaseModel):
    """The state that is kept between two batches of metrics."""

    sums: dict[str, float] = Field(default_factory=dict)
    pushes: int = 0
    errors: dict[int, float] = Field(default_factory=dict)
    """The last codec error of each worker."""
    shards: dict[int, ShardSums] = Field(default_factory=dict)

    def take(self, source: str, point: Point) -> None:
        """Add a point. `source`: the label of the process that measured it, with or without its incarnation."""
        if point.name in _SUMS:
            self.sums[point.name] = self.sums.get(point.name, 0.0) + point.value
            self.pushes += point.name == metrics.COMPUTE.name
        elif point.name == metrics.CODEC_ERROR.name:
            self.errors[point.rank] = point.value
        elif point.name in _OF_SHARDS and (shard := _SERVER.fullmatch(source)):  # user code may send under any name
            rank = int(shard[1])
            self.shards[rank] = self.shards.get(rank, ShardSums()).after(point)

    @property
    def center_bytes(self) -> int | None:
        """Bytes of all slices; None until the first is known."""
        known = [shard.slice_bytes for shard in self.shards.values() if shard.slice_bytes is not None]
        return sum(known) if known else None

    @property
    def largest_share(self) -> float:
        """Share of the largest parameter in the center, where servers need whole ones; 0: not known."""
        largest = max((shard.largest_bytes for shard in self.shards.values()), default=0)
        return min(1.0, largest / self.center_bytes) if self.center_bytes else 0.0

    def exchange(self) -> Exchange | None:
        """None before the first push."""
        if not self.pushes:
            return None
        means = {field: self.sums.get(name, 0.0) / self.pushes for name, field in _SUMS.items()}
        error = sum(self.errors.values()) / len(self.errors) if self.errors else None
        return Exchange(pushes=self.pushes, error=error, **means)

    def loads(self) -> Sequence[ShardLoad]:
        return [self.shards[rank].load(rank) for rank in sorted(self.shards)]


_SERVER = re.compile(r"server-([0-9]{1,9})(?:\.[0-9]+)?")
_SUMS = {
    metrics.COMPUTE.name: "compute",
    metrics.DATA.name: "data",
    metrics.SEND.name: "send",
    metrics.WAIT.name: "wait",
    metrics.SENT.name: "sent_bytes",
    metrics.RAW.name: "raw_bytes",
    metrics.RECEIVED.name: "received_bytes",
}
_OF_SHARDS = frozenset({metrics.SLICE.name, metrics.LARGEST.name, metrics.APPLY.name, metrics.QUEUE.name})
FIGURES = frozenset({*_SUMS, *_OF_SHARDS, metrics.CODEC_ERROR.name})
"""Metrics that `Figures` uses; it ignores others."""


def _milliseconds(seconds: float) -> str:
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
