"""What a chart shows, against all the points: no column may differ, whatever was measured in whatever order."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backend.metrics import blocks, pyramid, walk
from backend.metrics.columns import Grid, drawn
from backend.metrics.models import MetricSeriesRow
from backend.metrics.points import AXES, POINT, Array

SIZES = (1, 2, 255, 257, 700, 16_384, 20_000, 40_000)
ORDERS = ("rising", "back once", "shuffled", "same", "backwards")


def measured(seed: int, size: int, order: str, odd: float, begin: int) -> Array:
    """Points whose values are whole numbers, so that sums are exact, and some that are no numbers."""
    rng = np.random.default_rng(seed)
    points = np.empty(size, POINT)
    at = np.arange(begin, begin + size)
    match order:
        case "back once":  # a replaced worker goes back to its last cut
            at[size // 2 :] -= size // 4
        case "shuffled":
            rng.shuffle(at)
        case "same":
            at[:] = begin
        case "backwards":
            at = at[::-1]
    points["step"], points["samples"], points["version"], points["time"] = at, 32 * at, at // 3, 1e9 + at / 8
    points["value"] = rng.integers(-1000, 1000, size)
    spoilt = rng.random(size) < odd
    points["value"][spoilt] = rng.choice([math.nan, math.inf, -math.inf], int(spoilt.sum()))
    return points


@dataclass
class Stored:
    """Series with their blocks, in a dictionary instead of the database."""

    lines: list[walk.Line] = field(default_factory=list)
    raw: list[Array] = field(default_factory=list)
    blocks: dict[tuple[int, int, int], bytes] = field(default_factory=dict)

    def add(self, attempt: int, rank: int, points: Array, folds: list[float]) -> None:
        """`folds`: at which shares of the points they were folded; what comes after the last still waits."""
        row = MetricSeriesRow(
            id=len(self.lines), attempt=attempt, source=f"worker-{rank}", name="train/loss", rank=rank, count=len(points), folded=0
        )
        summary: Array | None = None
        for end in sorted(int(share * len(points)) for share in folds):
            if end > row.folded:
                tails = {place: self._block(row.id, place) for place in pyramid.tails(row.folded)}
                grown = pyramid.grow(row.folded, summary, tails, points[row.folded : end])
                self.blocks |= {(row.id, *place): blocks.pack(block) for place, block in grown.blocks.items()}
                summary, row.folded = grown.summary, end
        self.lines.append(walk.Line(row, summary, points[row.folded :]))
        self.raw.append(points)

    def _block(self, series: int, place: pyramid.Place) -> Array:
        return blocks.unpack([self.blocks[series, *place]], blocks.SUMMARY if place[0] else POINT)[0]

    def chart(self, axis: str, range_: tuple[float, float] | None, columns: int) -> tuple[Grid | None, dict[int, dict[str, Any]]]:
        undone = walk.undone_from(self.lines, axis)
        extent = walk.extent(self.lines, axis, undone)
        if extent is None:
            return None, {}
        grid = Grid(axis, *(range_ or (float(extent[0]), float(extent[1]))), columns)
        found = walk.read(lambda wanted: [self.blocks[key] for key in wanted], self.lines, grid, undone)
        return grid, {place: drawn(found[found["series"] == place]) for place in range(len(self.lines))}


def expected(stored: Stored, place: int, grid: Grid) -> dict[str, list[Any]]:
    """The columns of one series, from its points one by one."""
    its = stored.lines[place].row
    later = [
        raw[grid.axis].min() for line, raw in zip(stored.lines, stored.raw, strict=True)
        if line.row.attempt > its.attempt and line.row.source == its.source
    ]  # fmt: skip
    cut = min(later, default=math.inf) if grid.axis != "time" else math.inf
    columns: dict[int, list[tuple[float, float]]] = defaultdict(list)
    width = (grid.end - grid.start) / grid.count
    for x, value in zip(stored.raw[place][grid.axis].tolist(), stored.raw[place]["value"].tolist(), strict=True):
        if grid.start <= x <= grid.end and x < cut:
            columns[min(int((x - grid.start) / width), grid.count - 1) if width else 0].append((x, value))
    found: dict[str, list[Any]] = {name: [] for name in ("x", "first", "low", "high", "last", "mean", "count", "odd")}
    for _, points in sorted(columns.items()):
        finite = [value for _, value in points if math.isfinite(value)]
        values = {
            "x": points[0][0], "first": points[0][1], "last": points[-1][1], "low": min(finite, default=math.nan),
            "high": max(finite, default=math.nan), "mean": sum(finite) / len(finite) if finite else math.nan,
            "count": len(points), "odd": len(points) - len(finite),
        }  # fmt: skip
        for name, value in values.items():
            found[name].append(value if math.isfinite(value) else None)
    return found


series = st.tuples(
    st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.sampled_from(ORDERS), st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    st.lists(st.floats(0, 1), max_size=4),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@example(several=[(1, 0, 0, (1, 40_000, "rising", 0.0, [0.9]))], axis="step", columns=7, ends=None)
@given(
    several=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1), st.integers(0, 25_000), series), min_size=1, max_size=5),
    axis=st.sampled_from(AXES), columns=st.sampled_from([1, 3, 7, 30, 100, 800]),
    ends=st.one_of(st.none(), st.tuples(st.floats(0, 1), st.floats(0, 1))),
)  # fmt: skip
def test_every_column_is_that_of_the_points(several: list[Any], axis: str, columns: int, ends: tuple[float, float] | None) -> None:
    stored = Stored()
    for (attempt, rank), (begin, (seed, size, order, odd, folds)) in {one[:2]: one[2:] for one in several}.items():
        stored.add(attempt, rank, measured(seed, size, order, odd, begin), folds)
    everywhere = np.concatenate([raw[axis] for raw in stored.raw]).astype(float)
    low, high = float(everywhere.min()), float(everywhere.max())
    range_ = None if ends is None else (low + min(ends) * (high - low), low + max(ends) * (high - low))
    grid, found = stored.chart(axis, range_, columns)
    assert grid is not None
    for place, columns_of_it in found.items():
        assert columns_of_it == expected(stored, place, grid)
    if range_ is None:
        assert grid.start == min(min(its["x"], default=math.inf) for its in _ends(stored, grid))
        assert grid.end == max(max(its["x"], default=-math.inf) for its in _ends(stored, grid))


def _ends(stored: Stored, grid: Grid) -> list[dict[str, list[Any]]]:
    """As many columns as show the x of each end."""
    fine = Grid(grid.axis, -math.inf, math.inf, 1)
    found = []
    for place, raw in enumerate(stored.raw):
        later = [
            other[grid.axis].min() for line, other in zip(stored.lines, stored.raw, strict=True)
            if line.row.attempt > stored.lines[place].row.attempt and line.row.source == stored.lines[place].row.source
        ]  # fmt: skip
        cut = min(later, default=math.inf) if fine.axis != "time" else math.inf
        found.append({"x": [x for x in raw[grid.axis].tolist() if x < cut]})
    return found


def test_one_spike_among_a_million_points_is_in_its_column() -> None:
    points = measured(1, 1_000_000, "rising", 0.0, 0)
    points["value"][765_432] = 1e6
    stored = Stored()
    stored.add(1, 0, points, [0.1, 0.5, 0.99])
    for range_ in (None, (0.0, 1e6), (700_000.0, 800_000.0), (765_432.0, 765_432.0)):
        grid, found = stored.chart("step", range_, 800)
        assert grid is not None
        assert max(found[0]["high"]) == 1e6
        assert sum(found[0]["count"]) == np.count_nonzero((points["step"] >= grid.start) & (points["step"] <= grid.end))


@pytest.mark.parametrize("kind", ["points", "summaries"])
def test_blocks_come_back_as_they_were(kind: str) -> None:
    several = [measured(size, size, "shuffled", 0.1, -5) for size in (1, 256, 256, 17)]
    rows = several if kind == "points" else [blocks.of_points(points) for points in several]
    found, sizes = blocks.unpack([blocks.pack(each) for each in rows], rows[0].dtype)
    assert sizes.tolist() == [1, 256, 256, 17]
    assert found.tobytes() == np.concatenate(rows).tobytes()
