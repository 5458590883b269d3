"""What a distribution counts, against all the points; and tallies, against what they are tallies of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backend.metrics.charts import distribution, walk
from backend.metrics.charts.columns import Grid
from backend.metrics.charts.distribution import Counted, quantile
from backend.metrics.store import tally
from backend.metrics.store.blocks import CHILDREN, POINTS
from backend.metrics.store.points import AXES, Array
from tests.unit.backend.stored import Stored, measured, range_of, several_series, shares

KINDS = ("few", "many", "fractions", "slowly rising", "huge")


def of_kind(kind: str, points: Array) -> Array:
    value = points["value"]
    match kind:
        case "few":
            points["value"] = np.where(np.isfinite(value), np.abs(np.nan_to_num(value, posinf=0.0, neginf=0.0)) // 45, value)
        case "fractions":
            points["value"] = value / 7
        case "slowly rising":
            points["value"] = np.where(np.isfinite(value), points["step"] // 2000, value)
        case "huge":
            points["value"] = value * 1e300
    return points


def distributed(stored: Stored, axis: str, range_: tuple[float, float] | None) -> tuple[Grid, Counted, list[tuple[int, int, int]]]:
    """The blocks that were read, too."""
    rolled_back = walk.rolled_back_from(stored.lines, axis)
    extent = walk.extent(stored.lines, axis, rolled_back)
    assert extent is not None
    grid, read = Grid(axis, *(range_ or extent), 1), list[tuple[int, int, int]]()

    def fetch(wanted: Sequence[tuple[int, int, int]]) -> list[bytes]:
        read.extend(wanted)
        return [stored.blocks[key] for key in wanted]

    found = distribution.count(fetch, lambda wanted: [stored.tallies[key] for key in wanted], stored.lines, grid, rolled_back)
    return grid, found, read


@settings(max_examples=60, deadline=None)
@example(several=[(1, 0, 0, (1, 40_000, "rising", 0.0, [0.9]))], kind="few", axis="step", ends=(0.3, 0.8))
@given(several=several_series, kind=st.sampled_from(KINDS), axis=st.sampled_from(AXES), ends=shares)
def test_every_bin_counts_the_points(several: list[Any], kind: str, axis: str, ends: tuple[float, float] | None) -> None:
    stored = Stored()
    for (attempt, rank), (begin, (seed, size, order, odd, folds)) in {one[:2]: one[2:] for one in several}.items():
        stored.add(attempt, rank, of_kind(kind, measured(seed, size, order, odd, begin)), folds)
    grid, found, _ = distributed(stored, axis, range_of(stored, axis, ends))
    values = []
    for place, raw in enumerate(stored.raw):
        x = raw[axis]
        values.append(raw["value"][(x >= grid.start) & (x <= grid.end) & (x < stored.rolled_back_from(place, axis))])
    finite = [its[np.isfinite(its)] for its in values]
    assert found.odd.tolist() == [len(its) - len(known) for its, known in zip(values, finite, strict=True)]
    if found.bins is None:
        assert not sum(map(len, finite))
        return
    assert found.bins.start == min(its.min() for its in finite if len(its))
    for its, counts in zip(finite, found.counts, strict=True):
        expected = Counter(min(max(int((value - found.bins.start) / found.bins.width), 0), found.bins.count - 1) for value in its)
        assert {place: count for place, count in enumerate(counts.tolist()) if count} == expected
    if kind in ("few", "slowly rising"):
        assert found.bins.width == 1.0
        everything = np.sort(np.concatenate(finite))
        for share in (0.5, 0.9, 0.99, 1.0):
            wanted = everything[math.ceil(share * len(everything)) - 1]
            assert quantile(found.bins, found.counts.sum(axis=0), share) == wanted


@pytest.mark.more
def test_ten_times_the_points_are_not_ten_times_the_work() -> None:
    stored = Stored()
    stored.add(1, 0, of_kind("few", measured(1, 1_000_000, "rising", 0.01, 0)), [0.3, 1.0])
    for range_ in (None, (123_456.0, 876_543.0)):
        _, found, read = distributed(stored, "step", range_)
        assert found.counts.sum() + found.odd.sum() == (1_000_000 if range_ is None else 753_088)
        assert len(read) <= (0 if range_ is None else 2 * CHILDREN + 5), "a tally stands for each block that lies in the range"


def test_a_block_without_a_tally_is_counted_by_those_below() -> None:
    """As it is for what was folded before there were any."""
    stored = Stored()
    stored.add(1, 0, of_kind("few", measured(1, 100_000, "rising", 0.0, 0)), [0.5, 1.0])
    expected = distributed(stored, "step", None)[1].counts.tolist()
    for gone in ((0, 2, 0), (0, 1, 3)):
        stored.tallies[gone] = None
        assert distributed(stored, "step", None)[1].counts.tolist() == expected


@pytest.mark.parametrize(
    ("values", "there"), [([1.0, math.nan, 1.0, -2.0], True), ([1.5], False), (list(range(257)), False), ([], True)]
)
def test_only_few_whole_numbers_have_a_tally(values: list[float], there: bool) -> None:
    found = tally.of(np.array(values, float))
    assert (found is not None) == there
    if found is not None:
        assert dict(found.tolist()) == Counter(value for value in values if math.isfinite(value))
        assert tally.unpack(tally.pack(found)).tolist() == found.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("parts", [[POINTS, 1, 5], [POINTS * CHILDREN, 3, 5], [1, POINTS * CHILDREN - 1, 700], [40_000]])
def test_tallies_grow_with_blocks(parts: list[int]) -> None:
    points = of_kind("few", measured(3, sum(parts), "rising", 0.0, 0))
    stored = Stored()
    stored.add(1, 0, points, [end / sum(parts) for end in np.cumsum(parts).tolist()])
    assert stored.lines[0].row.folded == sum(parts)
    for (_, level, number), packed in stored.tallies.items():
        span = POINTS * CHILDREN**level
        rows = tally.unpack(packed)
        assert rows is not None
        assert dict(rows.tolist()) == Counter(points["value"][number * span : (number + 1) * span].tolist())
