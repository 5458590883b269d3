"""Charts: from the summaries of whole series down to blocks that do not lie inside one column, level by level. No database here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from backend.metrics.charts.columns import PIECE, Grid, merge, needed, of_points, pieces
from backend.metrics.models import MetricSeriesRow
from backend.metrics.store import blocks, pyramid
from backend.metrics.store.blocks import CHILDREN, POINTS
from backend.metrics.store.points import POINT, Array

OPENED = 2048
"""Blocks in memory at a time."""
NEVER = np.inf

Fetch = Callable[[Sequence[tuple[int, int, int]]], list[bytes]]
"""Blocks of (series id, level, number), in this order."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series, and its points that are not in blocks yet."""

    row: MetricSeriesRow
    folded: Array | None
    """The summary of the points in blocks."""
    waiting: Array
    """Points that are not in blocks yet."""

    def ends(self, axis: str) -> tuple[float, float]:
        """The least and the greatest place on an axis."""
        least, most = [self.waiting[axis]], [self.waiting[axis]]
        if self.folded is not None:
            least, most = [*least, self.folded[f"{axis}_min"]], [*most, self.folded[f"{axis}_max"]]
        return float(np.concatenate(least).min()), float(np.concatenate(most).max())

    @property
    def summary(self) -> Array:
        """The summary of all points, in several rows at most."""
        parts = [] if self.folded is None else [self.folded]
        return np.concatenate([*parts, blocks.of_points(self.waiting)])


def rolled_back_from(all_lines: Sequence[Line], axis: str) -> Array:
    """Return, for each line of one metric, where a later attempt begins again: points from there on were rolled back. Time is never
    rolled_back."""
    found = np.full(len(all_lines), NEVER)
    if axis == "time":
        return found
    least = [line.ends(axis)[0] for line in all_lines]
    for place, line in enumerate(all_lines):
        later = [
            least[other]
            for other, its in enumerate(all_lines)
            if its.row.attempt > line.row.attempt and (its.row.source, its.row.rank) == (line.row.source, line.row.rank)
        ]
        found[place] = min(later, default=NEVER)
    return found


def extent(all_lines: Sequence[Line], axis: str, rolled_back: Array) -> tuple[float, float] | None:
    """Return the least and greatest x that is drawn. The place where rolled-back points begin counts:
    another attempt begins there."""
    ends = [line.ends(axis) for line in all_lines]
    kept = [(low, min(high, float(limit))) for (low, high), limit in zip(ends, rolled_back, strict=True) if low < limit]
    return (min(low for low, _ in kept), max(high for _, high in kept)) if kept else None


def read(fetch: Fetch, all_lines: Sequence[Line], grid: Grid, rolled_back: Array) -> Array:
    """Return an exact PIECE for each column that holds points; its `series` is the place in `all_lines`."""
    found = [np.empty(0, PIECE)]
    opened: dict[int, list[Array]] = defaultdict(list)
    for place, line in enumerate(all_lines):
        if line.folded is not None:
            inside, partial = pieces(grid, np.array([place]), np.zeros(1, np.int64), line.folded, rolled_back)
            found.append(inside)
            if partial.any():
                opened[pyramid.top(line.row.folded)].append(np.array([[place, 0]]))
        if len(line.waiting):
            at = line.row.folded + np.arange(len(line.waiting))
            found.append(pieces(grid, np.full(len(at), place), at, of_points(grid.axis, line.waiting), rolled_back)[0])
    for level in range(max(opened, default=-1), -1, -1):
        wanted = np.concatenate(opened[level])
        for first in range(0, len(wanted), OPENED):
            inside, below = _open(fetch, all_lines, level, wanted[first : first + OPENED], grid, rolled_back)
            found.append(inside)
            opened[level - 1].append(below)
    return merge(np.concatenate(found))


def _open(
    fetch: Fetch, all_lines: Sequence[Line], level: int, wanted: Array, grid: Grid, rolled_back: Array
) -> tuple[Array, Array]:
    """The pieces in these blocks (place of the line, number), and the blocks of the level below to be opened."""
    data = fetch([(all_lines[place].row.id, level, number) for place, number in wanted.tolist()])
    names = needed(grid.axis) if level else (grid.axis, "value")
    rows, sizes = blocks.read(data, blocks.SUMMARY if level else POINT, names)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    series, number = np.repeat(wanted[:, 0], sizes), np.repeat(wanted[:, 1], sizes)
    if not level:
        return pieces(grid, series, number * POINTS + within, of_points(grid.axis, rows), rolled_back)[0], wanted[:0]
    child = number * CHILDREN + within
    inside, partial = pieces(grid, series, child * POINTS * CHILDREN ** (level - 1), rows, rolled_back)
    return inside, np.stack([series[partial], child[partial]], axis=1)
