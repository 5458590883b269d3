"""Searches in pyramids of series that open only the blocks which may hold the answer. No database here."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend.metrics.blocks import CHILDREN, of_points
from backend.metrics.points import Array
from backend.metrics.pyramid import top

Read = Callable[[int, int], Array]
"""The rows of the block with this level and number: points at level 0, summaries above."""


@dataclass(frozen=True)
class Tree:
    """One series, of at least one point."""

    count: int
    summary: Array
    """One, of all points."""
    read: Read
    undone_from: float = np.inf
    """Points with as many samples or more were undone by a later attempt."""


@dataclass(frozen=True)
class Goal:
    """A value to reach from below, or from above. What is not finite reaches nothing."""

    value: float
    rising: bool

    def reached(self, summaries: Array) -> Array:
        """Whether some value of each did."""
        found: Array = summaries["high"] >= self.value if self.rising else summaries["low"] <= self.value
        return found

    def best(self, summaries: Array) -> float:
        """The value nearest to it, or furthest beyond it; NaN where none is finite."""
        values = summaries["high" if self.rising else "low"]
        return float((np.fmax if self.rising else np.fmin).reduce(values, initial=np.nan))


def first(trees: Sequence[Tree], goal: Goal) -> tuple[int, Any] | None:
    """The earliest point that reached the goal and was not undone, behind the place of its series."""
    waiting: list[tuple[float, int, int, int]] = []
    found: tuple[int, Any] | None = None

    def consider(place: int, level: int, number: int, summaries: Array) -> None:
        hopeful = goal.reached(summaries) & (summaries["samples_min"] < trees[place].undone_from)
        for row in np.flatnonzero(hopeful):
            begins = float(summaries["time_min"][row])
            heapq.heappush(waiting, (begins, place, level - 1, number * CHILDREN + int(row)))

    for place, tree in enumerate(trees):
        consider(place, top(tree.count) + 1, 0, tree.summary)
    while waiting and (found is None or waiting[0][0] < found[1]["time"]):
        _, place, level, number = heapq.heappop(waiting)
        rows = trees[place].read(level, number)
        if level:
            consider(place, level, number, rows)
            continue
        hits = rows[goal.reached(of_points(rows)) & (rows["samples"] < trees[place].undone_from)]
        for hit in hits[np.argsort(hits["time"], kind="stable")][:1]:
            if found is None or hit["time"] < found[1]["time"]:
                found = place, hit
    return found


def best(trees: Sequence[Tree], goal: Goal) -> float | None:
    """The value nearest to the goal, or furthest beyond it, of all points that were not undone; None where none is finite."""
    values = [goal.best(part) for tree in trees for part in _upto(tree, "samples", tree.undone_from - 1)]
    nearest = (np.fmax if goal.rising else np.fmin).reduce(values, initial=np.nan)
    return None if np.isnan(nearest) else float(nearest)


def total(trees: Sequence[Tree], until: float) -> float:
    """The sum of the finite values measured until then (seconds since the epoch), those among them that were undone later."""
    return sum(float(part["sum"].sum()) for tree in trees for part in _upto(tree, "time", until))


def _upto(tree: Tree, axis: str, limit: float) -> Iterator[Array]:
    """Summaries that hold, all together, just the points of the series that lie at `limit` or before it."""
    opened = [(top(tree.count) + 1, 0, tree.summary)]
    while opened:
        level, number, rows = opened.pop()
        whole = rows[f"{axis}_max"] <= limit
        yield rows[whole]
        for row in np.flatnonzero(~whole & (rows[f"{axis}_min"] <= limit)):
            place = (level - 1, number * CHILDREN + int(row))
            below = tree.read(*place)
            opened.append((*place, below if place[0] else of_points(below)))
