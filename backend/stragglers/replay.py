"""A job's training once more under other settings, with the recorded paces of its workers: how long it would take. Pure.

The pace of a worker is its mini-batches per second while nothing but itself and the exchange holds it up. It is known for each cell
of recorded time; the last one goes on after that. A closed form of each gate turns paces into a duration:

    shares, asp or ssp    each worker trains its share at its own pace; the job ends with the slowest
    bsp                   each round takes as long as its slowest worker
    bsp with a quorum     each round takes as long as the worker that completes the quorum; slower ones keep their own paces, and
                          their pushes are dropped
    demand, asp           the paces add up
    demand, ssp           the same, and no worker is more than `bound` rounds ahead of the slowest

A job without an end has no duration, so `learned` gives the mini-batches that count per second.

`tests/unit/backend/test_stragglers_predicted.py` compares them with the simulator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from backend.metrics.store.points import Array
from backend.stragglers.cells import WorkerCells
from gradstream.gate import Gate

_RECENT = 5
"""Cells, and pushes, at least, whose mean pace goes on after the recorded time."""
_DOUBLINGS, _HALVINGS = 32, 48
"""Steps of the search for an end: 32 doublings of the recorded time are far beyond any job's end, and 48 halvings exact enough."""

Deal = Literal["shares", "demand"]


@dataclass(frozen=True)
class Paces:
    """Mini-batches per second of each worker (row) in each cell, and after the last cell."""

    ranks: tuple[int, ...]
    cells: Array
    after: Array
    width: float

    def done(self, seconds: float) -> Array:
        """Return the mini-batches of each worker after so many seconds of training."""
        whole, count = min(int(seconds / self.width), self.cells.shape[1]), self.cells.shape[1]
        rest = seconds - whole * self.width
        pace = self.cells[:, whole] if whole < count else self.after
        found: Array = self.cells[:, :whole].sum(axis=1) * self.width + rest * pace
        return found

    def from_now(self, ranks: Collection[int]) -> Paces:
        """Return the paces of these workers after the recorded time."""
        kept = [place for place, rank in enumerate(self.ranks) if rank in ranks]
        return Paces(tuple(self.ranks[place] for place in kept), self.cells[kept, :0], self.after[kept], self.width)


def in_rounds(paces: Array, quorum: int | None) -> Array:
    """Return the paces of workers (rows) under bsp: none is faster than the one that completes the quorum. None: all do."""
    found: Array = np.minimum(paces, round_pace(paces, quorum))
    return found


def round_pace(paces: Array, quorum: int | None) -> Array:
    """Return the pace of the worker (row) that completes the quorum. None: all do."""
    count = len(paces)
    found: Array = np.sort(paces, axis=0)[count - min(quorum or count, count)]
    return found


def learned(paces: Array, gate: Gate) -> Array:
    """Return the mini-batches of all workers (rows) together that count, per second, in a job that has no end in sight.

    Beyond a quorum they are dropped. Under ssp no worker stays faster than the slowest."""
    if gate.mode == "bsp":
        found: Array = min(gate.quorum or len(paces), len(paces)) * round_pace(paces, gate.quorum)
        return found
    held = np.minimum(paces, paces.min(axis=0)) if gate.mode == "ssp" else paces
    total: Array = held.sum(axis=0)
    return total


def own_paces(workers: Mapping[int, WorkerCells], *, held: bool) -> Paces:
    """`held`: the gate holds workers back, so only the least wait of all is the exchange; else each has its own."""
    ranks = tuple(sorted(workers))
    exchange = _least_wait(list(workers.values())) if held else None
    rows, after = zip(*(_pace(workers[rank], exchange) for rank in ranks), strict=True)
    return Paces(ranks, np.stack(rows), np.array(after), next(iter(workers.values())).width)


def _least_wait(workers: Sequence[WorkerCells]) -> float:
    """Return the seconds of a mini-batch for which even the worker waits that the others wait for. It may be another one in each
    cell."""
    with np.errstate(divide="ignore", invalid="ignore"):
        waits = np.stack([np.where(one.pushes > 0, one.parts["wait"] / (one.pushes * one.steps), np.inf) for one in workers])
    least = waits.min(axis=0)
    known = least[np.isfinite(least)]
    return float(np.median(known)) if len(known) else 0.0


def _pace(one: WorkerCells, exchange: float | None) -> tuple[Array, float]:
    """Return the mini-batches per second in each cell, and after the last one.

    Before its first push a worker has its mean pace, after its end the last one, and none while its process is away."""
    made = one.pushes * one.steps
    spent = one.seconds if exchange is None else one.busy + exchange * made
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where((made > 0) & (spent > 0), made / spent, np.nan)
    known = np.flatnonzero(np.isfinite(found))
    if not len(known):
        return np.zeros(len(found)), 0.0
    first, last = known[0], known[-1]
    enough = np.flatnonzero(one.pushes[known][::-1].cumsum() >= _RECENT)
    recent = known[-max(_RECENT, int(enough[0]) + 1 if len(enough) else len(known)) :]
    lately = float(made[recent].sum() / spent[recent].sum())
    found[:first] = float(made[known].sum() / spent[known].sum())
    found[first:last] = np.nan_to_num(found[first:last])
    found[last + 1 :] = lately
    return found, lately


@dataclass(frozen=True)
class Training:
    """Settings and shares that decide how long the workers train."""

    gate: Gate
    deal: Deal
    shares: Mapping[int, float]
    """Mini-batches of each worker."""
    window: float = 1.0
    """Mini-batches of a push."""

    @property
    def unknown(self) -> str | None:
        """Return the setting for which no closed form exists."""
        gate = self.gate
        if gate.cohort != 1:
            return "gate.cohort draws the workers of each round at random"
        if gate.warm_start is not None:
            return "gate.warm_start lets one worker begin alone"
        return "gate.max_staleness drops pushes" if gate.max_staleness is not None else None

    def seconds(self, paces: Paces) -> float | None:
        """Return how long the training takes. None: it would not end."""
        shares = np.array([self.shares[rank] for rank in paces.ranks], float)
        if self.gate.mode == "bsp":
            return self._rounds(paces, shares)
        if self.deal == "shares":
            return _first(paces, lambda done: bool((done >= shares).all()))
        ahead = self._ahead
        return _first(paces, lambda done: bool(np.minimum(done, done.min() + ahead).sum() >= shares.sum()))

    def done(self, paces: Paces, seconds: float) -> Array:
        """Return the mini-batches of each worker after so many seconds, if none has trained its whole share."""
        if self.gate.mode == "bsp":
            return replace(paces, cells=in_rounds(paces.cells, self.gate.quorum)).done(seconds)
        done = paces.done(seconds)
        found: Array = np.minimum(done, done.min() + self._ahead)
        return found

    @property
    def _ahead(self) -> float:
        """Mini-batches by which a worker may be ahead of the slowest."""
        return (self.gate.bound + 1) * self.window if self.gate.mode == "ssp" else np.inf

    def _rounds(self, paces: Paces, shares: Array) -> float | None:
        """A worker leaves when it has trained its share, and the quorum is one of those that are left."""
        left, now = shares.copy(), 0.0
        for pace, width in [*((cell, paces.width) for cell in paces.cells.T), (paces.after, np.inf)]:
            until = now + width
            while left.any() and now < until:
                live = np.flatnonzero(left)
                rate = in_rounds(pace[live], self.gate.quorum)
                with np.errstate(divide="ignore"):
                    ends = left[live] / rate
                span = min(float(ends.min()), until - now)
                if span == np.inf:
                    return None
                left[live] = np.where(ends <= span, 0.0, left[live] - span * rate)
                now += span
        return now


def _first(paces: Paces, is_over: Callable[[Array], bool]) -> float | None:
    """Return the first moment at which this is true of the mini-batches done. They never fall."""
    low: float = 0.0
    high: float = max(paces.cells.shape[1] * paces.width, paces.width)
    for _ in range(_DOUBLINGS):
        if is_over(paces.done(high)):
            break
        low, high = high, 2 * high
    else:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_over(paces.done(middle)) else (middle, high)
    return high
