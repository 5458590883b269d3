"""What a chart shows, against all the points: no column may differ, whatever was measured in whatever order."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backend.metrics.charts import walk
from backend.metrics.charts.columns import Grid, drawn
from backend.metrics.store import blocks
from backend.metrics.store.points import AXES
from tests.unit.backend.stored import Stored, measured, range_of, several_series, shares

Drawn = tuple[Grid | None, dict[int, dict[str, Any]]]


def chart(stored: Stored, axis: str, range_: tuple[float, float] | None, columns: int) -> Drawn:
    rolled_back = walk.rolled_back_from(stored.lines, axis)
    extent = walk.extent(stored.lines, axis, rolled_back)
    if extent is None:
        return None, {}
    grid = Grid(axis, *(range_ or (float(extent[0]), float(extent[1]))), columns)
    found = walk.read(lambda wanted: [stored.blocks[key] for key in wanted], stored.lines, grid, rolled_back)
    return grid, {place: drawn(found[found["series"] == place]) for place in range(len(stored.lines))}


def expected(stored: Stored, place: int, grid: Grid) -> dict[str, list[Any]]:
    """The columns of one series, from its points one by one."""
    cut = stored.rolled_back_from(place, grid.axis)
    columns: dict[int, list[tuple[float, float]]] = defaultdict(list)
    width = (grid.end - grid.start) / grid.count
    for x, value in zip(stored.raw[place][grid.axis].tolist(), stored.raw[place]["value"].tolist(), strict=True):
        if grid.start <= x <= grid.end and x < cut:
            columns[min(int((x - grid.start) / width), grid.count - 1) if width else 0].append((x, value))
    found: dict[str, list[Any]] = {name: [] for name in ("x", "first", "low", "high", "last", "mean", "count", "odd")}
    for _, points in sorted(columns.items()):
        finite = [value for _, value in points if math.isfinite(value)]
        values = {
            "x": points[0][0],
            "first": points[0][1],
            "last": points[-1][1],
            "low": min(finite, default=math.nan),
            "high": max(finite, default=math.nan),
            "mean": sum(finite) / len(finite) if finite else math.nan,
            "count": len(points),
            "odd": len(points) - len(finite),
        }
        for name, value in values.items():
            found[name].append(value if math.isfinite(value) else None)
    return found


@pytest.mark.more
@settings(max_examples=60, deadline=None)
@example(several=[(1, 0, 0, (1, 40_000, "rising", 0.0, [0.9]))], axis="step", columns=7, ends=None)
@given(several=several_series, axis=st.sampled_from(AXES), columns=st.sampled_from([1, 3, 7, 30, 100, 800]), ends=shares)
def test_every_column_is_that_of_the_points(several: list[Any], axis: str, columns: int, ends: tuple[float, float] | None) -> None:
    stored = Stored()
    for (attempt, rank), (begin, (seed, size, order, odd, folds)) in {one[:2]: one[2:] for one in several}.items():
        stored.add(attempt, rank, measured(seed, size, order, odd, begin), folds)
    range_ = range_of(stored, axis, ends)
    grid, found = chart(stored, axis, range_, columns)
    assert grid is not None
    for place, columns_of_it in found.items():
        assert columns_of_it == expected(stored, place, grid)
    if range_ is None:
        assert grid.start == min(min(its["x"], default=math.inf) for its in _ends(stored, grid))
        assert grid.end == max(max(its["x"], default=-math.inf) for its in _ends(stored, grid))


def _ends(stored: Stored, grid: Grid) -> list[dict[str, list[Any]]]:
    """As many columns as show the x of each end."""
    found = []
    for place, raw in enumerate(stored.raw):
        cut = stored.rolled_back_from(place, grid.axis)
        found.append({"x": [x for x in raw[grid.axis].tolist() if x < cut]})
    return found


@pytest.mark.more
def test_one_spike_among_a_million_points_is_in_its_column() -> None:
    points = measured(1, 1_000_000, "rising", 0.0, 0)
    points["value"][765_432] = 1e6
    stored = Stored()
    stored.add(1, 0, points, [0.1, 0.5, 0.99])
    for range_ in (None, (0.0, 1e6), (700_000.0, 800_000.0), (765_432.0, 765_432.0)):
        grid, found = chart(stored, "step", range_, 800)
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
