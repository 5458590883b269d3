"""Searches in pyramids of series that open only the blocks which may hold the answer. No database here: a search says which blocks
it wants next and goes on when it gets them, so that those of many jobs are read together."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from backend.metrics.store.blocks import CHILDREN, of_points
from backend.metrics.store.points import Array
from backend.metrics.store.pyramid import Place, top


@dataclass(frozen=True, eq=False)
class Tree:
    """One series, of at least one point."""

    count: int
    summary: Array
    """One summary, of all points."""
    blocks: int | Mapping[Place, Array]
    """The series (its id) whose blocks are in the database, or the blocks."""
    rolled_back_from: float = np.inf
    """Points with as many samples or more were rolled back by a later attempt."""


class Wanted(NamedTuple):
    """A block: points at level 0, summaries above."""

    tree: Tree
    level: int
    number: int


T = TypeVar("T")
Search = Generator[Sequence[Wanted], Sequence[Array], T]
"""Yields the blocks that it wants next, is sent the rows of each, and returns its result."""


def together(searches: Sequence[Search[T]], read: Callable[[Sequence[Wanted]], Sequence[Array]]) -> list[T]:
    """Run the searches side by side and return their results; the blocks that all of them want next are read at once."""
    found: dict[int, T] = {}
    sent: dict[int, Sequence[Array] | None] = dict.fromkeys(range(len(searches)))
    while sent:
        wanted: dict[int, Sequence[Wanted]] = {}
        for place, rows in sent.items():
            try:
                wanted[place] = next(searches[place]) if rows is None else searches[place].send(rows)
            except StopIteration as done:
                found[place] = done.value
        every = iter(read([each for several in wanted.values() for each in several]) if wanted else ())
        sent = {place: [next(every) for _ in several] for place, several in wanted.items()}
    return [found[place] for place in range(len(searches))]


@dataclass(frozen=True)
class Goal:
    """A value to reach from below, or from above. A value that is not finite reaches nothing."""

    value: float
    rising: bool

    def reached(self, summaries: Array) -> Array:
        """Return for each summary whether one of its values reached the goal."""
        found: Array = summaries["high"] >= self.value if self.rising else summaries["low"] <= self.value
        return found

    def best(self, summaries: Array) -> float:
        """Return the value nearest to the goal, or furthest beyond it; NaN where none is finite."""
        values = summaries["high" if self.rising else "low"]
        return float((np.fmax if self.rising else np.fmin).reduce(values, initial=np.nan))


def first(trees: Sequence[Tree], goal: Goal) -> Search[tuple[int, Any] | None]:
    """The earliest point that reached the goal and was not rolled back, behind the place of its series."""
    waiting: list[list[tuple[float, int, int]]] = [[] for _ in trees]
    found: tuple[int, Any] | None = None
    for place, tree in enumerate(trees):
        _consider(waiting[place], tree, goal, top(tree.count) + 1, 0, tree.summary)
    while True:
        hopeful = [place for place, heap in enumerate(waiting) if heap and (found is None or heap[0][0] < found[1]["time"])]
        if not hopeful:
            return found
        wanted = [Wanted(trees[place], *heapq.heappop(waiting[place])[1:]) for place in hopeful]
        for place, (tree, level, number), rows in zip(hopeful, wanted, (yield wanted), strict=True):
            if level:
                _consider(waiting[place], tree, goal, level, number, rows)
                continue
            hits = rows[goal.reached(of_points(rows)) & (rows["samples"] < tree.rolled_back_from)]
            for hit in hits[np.argsort(hits["time"], kind="stable")][:1]:
                if found is None or hit["time"] < found[1]["time"]:
                    found = place, hit


def _consider(waiting: list[tuple[float, int, int]], tree: Tree, goal: Goal, level: int, number: int, summaries: Array) -> None:
    hopeful = goal.reached(summaries) & (summaries["samples_min"] < tree.rolled_back_from)
    for row in np.flatnonzero(hopeful):
        heapq.heappush(waiting, (float(summaries["time_min"][row]), level - 1, number * CHILDREN + int(row)))


def best(trees: Sequence[Tree], goal: Goal) -> Search[float | None]:
    """The value nearest to the goal, or furthest beyond it, of all points that were not rolled back; None where none is finite."""
    parts = yield from _upto(trees, "samples", [tree.rolled_back_from - 1 for tree in trees])
    nearest = (np.fmax if goal.rising else np.fmin).reduce([goal.best(part) for part in parts], initial=np.nan)
    return None if np.isnan(nearest) else float(nearest)


def newest_before(trees: Sequence[Tree], time: float) -> Search[int | None]:
    """Samples of the newest point, not rolled back, that was measured before then (seconds since the epoch)."""
    parts = yield from _upto(trees, "time", [float(np.nextafter(time, -np.inf))] * len(trees))
    rolled_back_from = min((tree.rolled_back_from for tree in trees), default=np.inf)
    seen = [int(value) for part in parts for value in part["samples_max"] if value < rolled_back_from]
    return max(seen, default=None)


def total(trees: Sequence[Tree], until: float) -> Search[float]:
    """The sum of the finite values measured until then (seconds since the epoch), those among them that were rolled back later."""
    parts = yield from _upto(trees, "time", [until] * len(trees))
    return sum(float(part["sum"].sum()) for part in parts)


def _upto(trees: Sequence[Tree], axis: str, limits: Sequence[float]) -> Search[list[Array]]:
    """Summaries that hold, all together, just the points of the series that lie at its limit or before it."""
    parts: list[Array] = []
    opened = [(place, top(tree.count) + 1, 0, tree.summary) for place, tree in enumerate(trees)]
    while opened:
        partial: list[tuple[int, int, int]] = []
        for place, level, number, rows in opened:
            whole = rows[f"{axis}_max"] <= limits[place]
            parts.append(rows[whole])
            below = np.flatnonzero(~whole & (rows[f"{axis}_min"] <= limits[place])) if level else ()
            partial += [(place, level - 1, number * CHILDREN + int(row)) for row in below]
        if not partial:
            break
        read = yield [Wanted(trees[place], level, number) for place, level, number in partial]
        opened = [(*at, rows if at[1] else of_points(rows)) for at, rows in zip(partial, read, strict=True)]
    return parts
