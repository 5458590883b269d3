"""A job's training once more under other settings, with the recorded paces of its workers: how long it would take. Pure.

The pace of a worker is its mini-batches per second while nothing but itself and the exchange holds it up. It is known for each cell
of recorded time; the last one goes on after that. A closed form of each gate turns paces into a duration:

    shares, asp or ssp    each worker trains its share at its own pace; the job ends with the slowest
    bsp                   each round takes as long as its slowest worker
    demand, asp           the paces add up
    demand, ssp           the same, and no worker is more than `bound` rounds ahead of the slowest

`tests/unit/backend/test_stragglers_predicted.py` compares them with the simulator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
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

    def rows(self, ranks: Collection[int]) -> Paces:
        kept = [place for place, rank in enumerate(self.ranks) if rank in ranks]
        return Paces(tuple(self.ranks[place] for place in kept), self.cells[kept], self.after[kept], self.width)

    def slowest(self) -> Paces:
        """Return the paces of rounds: in each cell that of the slowest worker."""
        return Paces(self.ranks[:1], self.cells.min(axis=0, keepdims=True), self.after.min(keepdims=True), self.width)


def own_paces(workers: Mapping[int, WorkerCells], *, held: bool) -> Paces:
    """`held`: the gate holds workers back, so only the least wait of all is the exchange; else each has its own."""
    ranks = tuple(sorted(workers))
    least = min((mean["wait"] for one in workers.values() if (mean := one.mean(slice(None)))), default=0.0)
    rows, after = zip(*(_pace(workers[rank], least if held else None) for rank in ranks), strict=True)
    return Paces(ranks, np.stack(rows), np.array(after), next(iter(workers.values())).width)


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
    shares: Mapping[int, int]
    """Mini-batches of each worker."""
    window: float = 1.0
    """Mini-batches of a push."""

    @property
    def is_known(self) -> bool:
        """Return whether a closed form exists."""
        gate = self.gate
        return bool(self.shares) and gate.quorum is None and gate.cohort == 1 and gate.warm_start is None and gate.may_drop is False

    def seconds(self, paces: Paces) -> float | None:
        """Return how long the training takes. None: it would not end."""
        shares = np.array([self.shares[rank] for rank in paces.ranks], float)
        if self.gate.mode == "bsp":
            return _first(paces.slowest(), lambda done: bool(done[0] >= shares.max()))
        if self.deal == "shares":
            return _first(paces, lambda done: bool((done >= shares).all()))
        ahead = (self.gate.bound + 1) * self.window if self.gate.mode == "ssp" else np.inf
        return _first(paces, lambda done: bool(np.minimum(done, done.min() + ahead).sum() >= shares.sum()))


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
