"""Pushes of each worker, and the parts of their times, in equal cells of time. Pure.

A push is reported when it is done. One that took longer than a cell leaves cells without a report, so it is spread evenly over the
cells from the report before on. A push that is at work is taken for one that ends now, or after the usual time if that is later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from backend.metrics.charts.timings import CellSums
from backend.metrics.store.points import Array

PARTS = ("compute", "data", "send", "wait", "peer_wait")
"""The parts of a push that are measured. `compute` is without `peer_wait` here."""
_USUAL = 3
"""Last cells with a report whose pushes say what is usual."""


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
    sums: Mapping[str, CellSums], start: float, width: float, steps: float, ended: float | None, away: Sequence[tuple[float, float]]
) -> WorkerCells | None:
    """`sums`: of one worker by part. `ended`: when it left for good; None: it trains. `away`: times between the end of an
    incarnation and the start of the next. None: it has not made a push yet."""
    if "compute" not in sums:
        return None
    made = sums["compute"]
    count = made.count.copy()
    edges = start + width * np.arange(len(count) + 1)
    present = np.clip((edges[1:] - made.began) / width, 0, 1)
    if ended is not None:
        present = np.minimum(present, np.clip((ended - edges[:-1]) / width, 0, 1))
    began = int(np.argmax(count > 0))
    count[began] -= 1  # the duration of its first push is not known
    totals = {name: one.total.copy() for name, one in sums.items()}
    for name, one in sums.items():
        totals[name][int(np.argmax(one.count > 0))] -= one.first
    gone = _cells_away(count, edges, away, began)
    present[gone] = 0.0
    spread = _spread(made.count, gone, began)
    parts = {name: _apply(spread, totals.get(name, np.zeros(len(count)))) for name in PARTS}
    parts["compute"] = np.maximum(0.0, parts["compute"] - parts["peer_wait"])
    pushes = _apply(spread, count)
    if ended is None and spread and spread[-1][1] < len(count):
        _fill_at_work(pushes, parts, present, width, spread)
    return WorkerCells(pushes, present, parts, width, steps)


def _fill_at_work(
    pushes: Array, parts: Mapping[str, Array], present: Array, width: float, spread: Sequence[tuple[int, int]]
) -> None:
    """Fill the cells after the last report, if the worker is there. The last pushes say what is usual."""
    since, before = spread[-1][1], spread[max(0, len(spread) - _USUAL)][0]
    seconds, made = float(present[since:].sum()) * width, float(pushes[before:since].sum())
    if not seconds or not made:
        return
    usual = float(present[before:since].sum()) * width / made
    share = present[since:] * width / max(seconds, usual)
    pushes[since:] = share
    for values in parts.values():
        values[since:] = share * float(values[before:since].sum()) / made


def _cells_away(count: Array, edges: Array, away: Sequence[tuple[float, float]], began: int) -> Array:
    """Mark the cells without a push from the end of an incarnation to the first push of the next."""
    gone = np.zeros(len(count), bool)
    for ended, _ in away:
        cell = int(np.searchsorted(edges, ended, side="right")) - 1
        after = np.flatnonzero(count[cell + 1 :]) if cell >= began else np.zeros(0, int)
        last = cell + 1 + int(after[0]) if len(after) else len(count)
        gone[max(cell + 1, 0) : last] = cell >= began
    return gone


def _spread(count: Array, gone: Array, began: int) -> list[tuple[int, int]]:
    """Return the ranges of cells that the reports of one cell cover."""
    found, since = [], began
    for cell in range(began, len(count)):
        if gone[cell]:
            since = cell + 1
        elif count[cell]:
            found.append((since, cell + 1))
            since = cell + 1
    return found


def _apply(ranges: Sequence[tuple[int, int]], values: Array) -> Array:
    found = np.zeros(len(values))
    for first, after in ranges:
        found[first:after] = values[after - 1] / (after - first)
    return found
