"""Pushes of each worker, and the parts of their times, in equal cells of time. Pure.

A push is reported when it is done. It counts evenly over the time since the report before, so one that takes several cells leaves
none empty. The duration of a worker's first push is not known, so that one does not count. A push that is at work is taken for one
that ends now, or after the usual time if that is later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from backend.metrics.charts.timings import CellSums
from backend.metrics.store.points import Array

PARTS = ("compute", "data", "send", "wait", "peer_wait")
"""The parts of a push that are measured. `compute` is without `peer_wait` here."""
_USUAL = 5
"""Last pushes that say what is usual."""


@dataclass(frozen=True)
class WorkerCells:
    """One worker. All arrays have an item for each cell."""

    pushes: Array
    present: Array
    """Share of the cell in which it trained: after its first push, before its end, and not while its process was away."""
    parts: Mapping[str, Array]
    """Seconds of those pushes, by part."""
    width: float
    """Seconds of a cell."""
    steps: float = 1.0
    """Mini-batches of a push, on average."""

    @cached_property
    def seconds(self) -> Array:
        found: Array = self.present * self.width
        return found

    @cached_property
    def busy(self) -> Array:
        """Seconds that the worker itself takes, without waiting for responses and at the gate."""
        found: Array = sum((self.parts[name] for name in PARTS if name != "wait"), np.zeros(len(self.pushes)))
        return found

    def mean(self, cells: slice) -> dict[str, float] | None:
        """Return the seconds of a mini-batch in these cells by part, with `whole` and what is not measured as `other`. None: it
        made no push there."""
        pushes, seconds = float(self.pushes[cells].sum()), float(self.seconds[cells].sum())
        if not pushes or not seconds:
            return None
        made = pushes * self.steps
        found = {name: float(self.parts[name][cells].sum()) / made for name in PARTS}
        whole = seconds / made
        return {**found, "other": max(0.0, whole - sum(found.values())), "whole": whole}


def worker_cells(
    sums: Mapping[str, CellSums],
    edges: Array,
    steps: float,
    ended: float | None,
    away: Sequence[float],
) -> WorkerCells | None:
    """`sums`: of one worker by part. `edges`: of the cells. `ended`: when it left for good; None: it trains. `away`: when an
    incarnation of it ended that another one followed. None: it has not made a push yet."""
    if "compute" not in sums:
        return None
    width, made = float(edges[1] - edges[0]), sums["compute"]
    times, counts = made.times, made.counts.astype(float)
    present = _overlap(edges, times[0], np.inf if ended is None else max(ended, times[-1]))
    for at in away:
        times, counts, back = _without_push(times, counts, at)
        present -= np.minimum(present, _overlap(edges, at, back))
    if ended is None and edges[-1] > times[-1]:
        gap, usual = edges[-1] - times[-1], _usual_pause(times, counts)
        times = np.append(times, edges[-1])
        counts = np.append(counts, counts[-1] + (min(1.0, gap / usual) if usual else 0.0))
    done = np.interp(edges, times, counts)
    pushes = np.where(present > 0, np.diff(done), 0.0)
    parts = {
        name: np.where(present > 0, np.diff(_sum_of(sums[name], done)), 0.0) if name in sums else np.zeros(len(pushes))
        for name in PARTS
    }
    parts["compute"] = np.maximum(0.0, parts["compute"] - parts["peer_wait"])
    return WorkerCells(pushes, present, parts, width, steps)


def _overlap(edges: Array, begin: float, end: float) -> Array:
    """Return the share of each cell that lies between these times."""
    found: Array = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None) / (edges[1] - edges[0])
    return found


def _without_push(times: Array, counts: Array, at: float) -> tuple[Array, Array, float]:
    """Let no push be made from this time until the first push after it, which is the third value."""
    place = int(np.searchsorted(times, at, side="right"))
    if place == 0:
        return times, counts, at
    if place == len(times):
        return times, counts, np.inf
    before = max(counts[place - 1], counts[place] - 1)
    return np.insert(times, place, at), np.insert(counts, place, before), float(times[place])


def _usual_pause(times: Array, counts: Array) -> float:
    """Return the seconds of the last pushes; 0: there was one."""
    before = max(counts[0], counts[-1] - _USUAL)
    pushes = float(counts[-1] - before)
    return float(times[-1] - np.interp(before, counts, times)) / pushes if pushes else 0.0


def _sum_of(part: CellSums, done: Array) -> Array:
    """Return the sum of a part over so many pushes. One at work is like the last ones."""
    before = max(part.counts[0], part.counts[-1] - _USUAL)
    pushes = float(part.counts[-1] - before)
    usual = float(part.sums[-1] - np.interp(before, part.counts, part.sums)) / pushes if pushes else 0.0
    found: Array = np.interp(done, np.append(part.counts, part.counts[-1] + 1), np.append(part.sums, part.sums[-1] + usual))
    return found
