"""Charts: from the summaries of whole series down to what does not lie inside one column, level by level. No database here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from backend.metrics import blocks, pyramid
from backend.metrics.blocks import CHILDREN, POINTS
from backend.metrics.columns import PIECE, Grid, merge, pieces
from backend.metrics.models import MetricSeriesRow
from backend.metrics.points import POINT, Array

OPENED = 2048
"""Blocks in memory at a time."""
NEVER = np.inf

Fetch = Callable[[Sequence[tuple[int, int, int]]], list[bytes]]
"""Blocks of (series id, level, number), in this order."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series, and what is not in blocks yet."""

    row: MetricSeriesRow
    folded: Array | None
    """The summary of what is in blocks."""
    waiting: Array
    """Points."""

    @property
    def summary(self) -> Array:
        """Of all points; of several rows at most."""
        parts = [] if self.folded is None else [self.folded]
        return np.concatenate([*parts, blocks.of_points(self.waiting)])


def undone_from(all_lines: Sequence[Line], axis: str) -> Array:
    """For each line, of one metric: where a later attempt begins again, so that what an earlier one had made from there on was
    undone. Time is never undone."""
    found = np.full(len(all_lines), NEVER)
    if axis == "time":
        return found
    least = [float(line.summary[f"{axis}_min"].min()) for line in all_lines]
    for place, line in enumerate(all_lines):
        later = [
            least[other] for other, its in enumerate(all_lines)
            if its.row.attempt > line.row.attempt and (its.row.source, its.row.rank) == (line.row.source, line.row.rank)
        ]  # fmt: skip
        found[place] = min(later, default=NEVER)
    return found


def extent(all_lines: Sequence[Line], axis: str, undone: Array) -> tuple[float, float] | None:
    """The least and the greatest x that is drawn. The end of what was undone is one: a later attempt begins there."""
    ends = [(line.summary[f"{axis}_min"].min(), line.summary[f"{axis}_max"].max()) for line in all_lines]
    kept = [(low, min(high, cut)) for (low, high), cut in zip(ends, undone, strict=True) if low < cut]
    return (min(low for low, _ in kept), max(high for _, high in kept)) if kept else None


def read(fetch: Fetch, all_lines: Sequence[Line], grid: Grid, undone: Array) -> Array:
    """What each column holds, exactly: a PIECE for each that holds points, `series` being the place in `all_lines`."""
    found: list[Array] = []
    found += _waiting(all_lines, grid, undone)
    opened: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, line in enumerate(all_lines):
        if line.folded is not None:
            inside, cut = pieces(grid, np.array([place]), np.zeros(1, np.int64), line.folded, undone)
            found.append(inside)
            if cut.any():
                opened[pyramid.top(line.row.folded)].append((place, 0))
    for level in range(max(opened, default=-1), -1, -1):
        for portion in _portions(opened[level]):
            inside, below = _open(fetch, all_lines, level, portion, grid, undone)
            found.append(merge(inside))
            if level:
                opened[level - 1] += below
    return merge(np.concatenate(found)) if found else np.empty(0, PIECE)


def _portions(places: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    for first in range(0, len(places), OPENED):
        yield places[first : first + OPENED]


def _waiting(all_lines: Sequence[Line], grid: Grid, undone: Array) -> Iterator[Array]:
    for place, line in enumerate(all_lines):
        at = line.row.folded + np.arange(len(line.waiting))
        yield merge(pieces(grid, np.full(len(at), place), at, blocks.of_points(line.waiting), undone)[0])


def _open(
    fetch: Fetch, all_lines: Sequence[Line], level: int, places: list[tuple[int, int]], grid: Grid, undone: Array
) -> tuple[Array, list[tuple[int, int]]]:
    """The pieces in these blocks (place of the line, number), and the blocks of the level below to be opened."""
    data = fetch([(all_lines[place].row.id, level, number) for place, number in places])
    rows, sizes = blocks.unpack(data, blocks.SUMMARY if level else POINT)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    series = np.repeat([place for place, _ in places], sizes)
    if not level:
        at = np.repeat([number * POINTS for _, number in places], sizes) + within
        return pieces(grid, series, at, blocks.of_points(rows), undone)[0], []
    child = np.repeat([number * CHILDREN for _, number in places], sizes) + within
    span = POINTS * CHILDREN ** (level - 1)
    inside, cut = pieces(grid, series, child * span, rows, undone)
    return inside, list(zip(series[cut].tolist(), child[cut].tolist(), strict=True))
