"""Exact value counts of a range: from the tally of a block that lies in the range as a whole, from the points of a block that lies
there in part. No database here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from backend.metrics.charts.columns import Grid, Rows
from backend.metrics.charts.walk import OPENED, Fetch, Line
from backend.metrics.store import blocks, pyramid, tally
from backend.metrics.store.blocks import CHILDREN, SUMMARY
from backend.metrics.store.points import POINT, Array

MAX_BINS = 200
"""Bins."""
_EXACT = 2.0**53
"""Whole numbers up to here can be told apart."""
_INSIDE = 0
"""The one column of the range."""

FetchTallies = Callable[[Sequence[tuple[int, int, int]]], list[bytes | None]]
"""Tallies of the blocks (series id, level, number), in this order."""

NODE = np.dtype([("series", "<i8"), ("number", "<i8"), ("count", "<i8"), ("odd", "<i8"), ("low", "<f8"), ("high", "<f8")])
"""A block of a known level that lies in the range as a whole, with figures of its summary."""


@dataclass(frozen=True, slots=True)
class Bins:
    """`count` equal bins from `start` on. Bin i holds start + i * width <= value < start + (i + 1) * width; the last also holds
    its end."""

    start: float
    width: float
    count: int

    def of(self, values: Array) -> Array:
        found: Array = np.clip((values - self.start) / self.width, 0, self.count - 1).astype(np.int64)
        return found


@dataclass
class Seen:
    """The range of the finite values so far, and whether all are whole numbers."""

    low: float = math.inf
    high: float = -math.inf
    whole: bool = True

    def take(self, values: Array) -> None:
        finite = values[np.isfinite(values)]
        if len(finite):
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
            self.whole = self.whole and bool((finite == np.floor(finite)).all())

    def bins(self) -> Bins | None:
        """Return the bins: one for each whole number, while those are at most MAX_BINS. None: nothing was seen."""
        low, high = self.low, self.high
        if low > high:
            return None
        if self.whole and max(-low, high) < _EXACT:
            each = math.ceil((high - low + 1) / MAX_BINS)
            return Bins(low, float(each), math.floor((high - low) / each) + 1)
        width = high / MAX_BINS - low / MAX_BINS
        return Bins(low, width, MAX_BINS) if width > 0 else Bins(low, 1.0, 1)


@dataclass(frozen=True, slots=True)
class Counted:
    bins: Bins | None
    """None: there is no finite value."""
    counts: Array
    """(series, bin)"""
    odd: Array
    """Points of each series whose value is not finite."""


@dataclass
class _Range:
    """The blocks that hold the points of the range."""

    nodes: dict[int, list[Array]] = field(default_factory=lambda: defaultdict(list))
    """By level, blocks that lie in the range as a whole (NODE)."""
    partial: dict[int, list[Array]] = field(default_factory=lambda: defaultdict(list))
    """By level, blocks (place of the line, number) that lie in the range in part."""


def count(fetch: Fetch, tallies: FetchTallies, all_lines: Sequence[Line], grid: Grid, rolled_back: Array) -> Counted:
    """Count the values of the range in bins. `grid`: the range, as one column."""
    reader = _DistributionReader(fetch, tallies, all_lines, grid, rolled_back)
    found = reader.locate()
    odd, seen = np.zeros(len(all_lines), np.int64), Seen()
    for nodes in (part for parts in found.nodes.values() for part in parts):
        np.add.at(odd, nodes["series"], nodes["odd"])
        seen.take(nodes["low"])
        seen.take(nodes["high"])
    for series, values in reader.edges(found):
        odd += np.bincount(series[~np.isfinite(values)], minlength=len(odd))
        seen.take(values)
    into = seen.bins()
    counts = reader.count(found, into) if into else np.zeros((len(all_lines), 0), np.int64)
    return Counted(into, counts, odd)


@dataclass(frozen=True)
class _DistributionReader:
    fetch: Fetch
    tallies: FetchTallies
    lines: Sequence[Line]
    grid: Grid
    rolled_back: Array

    def locate(self) -> _Range:
        """Descend from the summaries of the series to the blocks of points that lie in the range in part; those stay closed."""
        found = _Range()
        for place, line in enumerate(self.lines):
            if line.folded is not None:
                self._sort(found, pyramid.top(line.row.folded), np.array([place]), np.zeros(1, np.int64), line.folded)
        for level in range(max(found.partial, default=0), 0, -1):
            for wanted in _portions(found.partial.pop(level, [])):
                rows, series, number = self._children(level, wanted)
                self._sort(found, level - 1, series, number, rows)
        return found

    def _sort(self, found: _Range, level: int, series: Array, number: Array, rows: Rows) -> None:
        rolled_back = self.rolled_back[series]
        first = self.grid.columns(rows[f"{self.grid.axis}_min"], rolled_back)
        whole = first == self.grid.columns(rows[f"{self.grid.axis}_max"], rolled_back)
        inside = whole & (first == _INSIDE)
        found.nodes[level].append(_nodes(series, number, rows, inside))
        found.partial[level].append(np.stack([series[~whole], number[~whole]], axis=1))

    def edges(self, found: _Range) -> Iterator[tuple[Array, Array]]:
        """The points of the range that lie in no node: (place of the line, value)."""
        for place, line in enumerate(self.lines):
            yield self._drawn(np.full(len(line.waiting), place), line.waiting)
        for wanted in _portions(found.partial[0]):
            yield self._drawn(*self._points(wanted, (self.grid.axis, "value")))

    def _drawn(self, series: Array, points: Rows) -> tuple[Array, Array]:
        kept = self.grid.columns(points[self.grid.axis], self.rolled_back[series]) == _INSIDE
        return series[kept], points["value"][kept]

    def count(self, found: _Range, into: Bins) -> Array:
        counts = np.zeros((len(self.lines), into.count), np.int64)
        for edge in self.edges(found):
            _add(counts, into, *edge)
        below: list[Array] = []
        for level in range(max(found.nodes, default=-1), -1, -1):
            nodes = np.concatenate([np.empty(0, NODE), *found.nodes[level], *below])
            nodes, below = nodes[nodes["count"] > 0], []
            single = into.of(nodes["low"]) == into.of(nodes["high"])
            _add(counts, into, nodes["series"][single], nodes["low"][single], nodes["count"][single])
            nodes = nodes[~single]
            for first in range(0, len(nodes), OPENED):
                below.append(self._open(counts, into, level, nodes[first : first + OPENED]))
        return counts

    def _open(self, counts: Array, into: Bins, level: int, nodes: Array) -> Array:
        """Count the nodes by their tallies, or else their points; return the nodes of the level below that are still to count."""
        places = np.stack([nodes["series"], nodes["number"]], axis=1)
        if not level:
            series, points = self._points(places, ("value",))
            _add(counts, into, series, points["value"])
            return nodes[:0]
        packed = self.tallies(self._keys(level, places))
        have = np.array([each is not None for each in packed])
        if have.any():
            rows, sizes = tally.joined([each for each in packed if each is not None])
            _add(counts, into, np.repeat(nodes["series"][have], sizes), rows["value"], rows["count"])
        if have.all():
            return nodes[:0]
        found, series, number = self._children(level, places[~have])
        return _nodes(series, number, found, np.full(len(series), True))

    def _children(self, level: int, wanted: Array) -> tuple[Rows, Array, Array]:
        """The summaries in these blocks, each of a block (place of the line, number) of the level below."""
        axis = self.grid.axis
        names = ("count", "odd", "low", "high", f"{axis}_min", f"{axis}_max")
        rows, sizes = blocks.read(self.fetch(self._keys(level, wanted)), SUMMARY, names)
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, np.repeat(wanted[:, 0], sizes), np.repeat(wanted[:, 1], sizes) * CHILDREN + within

    def _points(self, wanted: Array, names: Sequence[str]) -> tuple[Array, Rows]:
        rows, sizes = blocks.read(self.fetch(self._keys(0, wanted)), POINT, names)
        return np.repeat(wanted[:, 0], sizes), rows

    def _keys(self, level: int, wanted: Array) -> list[tuple[int, int, int]]:
        return [(self.lines[place].row.id, level, number) for place, number in wanted.tolist()]


def _portions(parts: Sequence[Array]) -> Iterator[Array]:
    wanted = np.concatenate(parts) if parts else np.empty((0, 2), np.int64)
    for first in range(0, len(wanted), OPENED):
        yield wanted[first : first + OPENED]


def _nodes(series: Array, number: Array, rows: Rows, which: Array) -> Array:
    found = np.empty(int(which.sum()), NODE)
    found["series"], found["number"] = series[which], number[which]
    for name in ("odd", "low", "high"):
        found[name] = rows[name][which]
    found["count"] = rows["count"][which] - found["odd"]
    return found


def _add(counts: Array, into: Bins, series: Array, values: Array, times: Array | None = None) -> None:
    """Count the finite values; the module's `count` counts the others as `odd`."""
    finite = np.isfinite(values)
    place = series[finite] * into.count + into.of(values[finite])
    if times is None:
        counts += np.bincount(place, minlength=counts.size).reshape(counts.shape)
    else:
        np.add.at(counts.reshape(-1), place, times[finite])


def quantile(into: Bins, counts: Array, share: float) -> float | None:
    """Return the start of the bin in which this share of the values is reached: the value itself where a bin is one whole number.
    None: there are no values."""
    reached = np.cumsum(counts)
    if not len(reached) or not reached[-1]:
        return None
    return into.start + into.width * int(np.searchsorted(reached, share * reached[-1]))
