"""The first moment at which a target was reached, found in pyramids, against a walk over all points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.compare.search import Goal, Search, Tree, Wanted, best, first, together, total
from backend.metrics.store.points import POINT, Array
from backend.metrics.store.pyramid import Place, grow

VALUES = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, np.nan, np.inf, -np.inf])


@st.composite
def series(draw: st.DrawFn) -> Array:
    """Up to some thousand points that may go back in time and samples, as those of a replaced worker do."""
    count = draw(st.integers(1, 40) | st.integers(250, 5000))
    points = np.zeros(count, POINT)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points["time"] = np.cumsum(random.normal(1.0, draw(st.sampled_from([0.0, 1.0, 20.0])), count))
    points["samples"] = np.maximum(0, np.cumsum(random.integers(-20, 60, count)))
    points["step"] = np.arange(count)
    points["value"] = random.choice(draw(st.lists(VALUES, min_size=1, max_size=4)), count)
    rare = draw(st.integers(0, count - 1))
    points["value"][rare] = draw(VALUES)
    return points


def tree(points: Array, rolled_back: float = np.inf) -> Tree:
    grown = grow(0, None, {}, points)
    return Tree(len(points), grown.summary, grown.blocks, rolled_back)


T = TypeVar("T")


def result(search: Search[T], opened: list[Place] | None = None) -> T:
    """Of one search by itself; `opened` takes the places of the blocks that it reads."""

    def read(wanted: Sequence[Wanted]) -> list[Array]:
        if opened is not None:
            opened.extend((level, number) for _, level, number in wanted)
        return [tree.blocks[level, number] for tree, level, number in wanted if not isinstance(tree.blocks, int)]

    return together([search], read)[0]


UNDONE = st.sampled_from([np.inf, 100.0, -1.0])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(series(), UNDONE), max_size=3), st.sampled_from([0.5, 2.0, -1.0]), st.booleans())
def test_it_is_what_a_walk_over_all_points_finds(several: list[tuple[Array, float]], value: float, rising: bool) -> None:
    goal, trees = Goal(value, rising), [tree(points, rolled_back) for points, rolled_back in several]
    counted = [points[np.isfinite(points["value"]) & (points["samples"] < rolled_back)] for points, rolled_back in several]
    hits = [points[points["value"] >= value if rising else points["value"] <= value] for points in counted]
    found = result(first(trees, goal))
    if not sum(map(len, hits)):
        assert found is None
    else:
        assert found
        assert found[1]["time"] == min(points["time"].min() for points in hits if len(points))
        assert found[1] in hits[found[0]]
    values = np.concatenate([points["value"] for points in counted]) if counted else np.empty(0)
    assert result(best(trees, goal)) == ((values.max() if rising else values.min()) if len(values) else None)


@settings(deadline=None, max_examples=50)
@given(st.lists(series(), max_size=3), st.floats(-10, 6000))
def test_sums_end_where_they_should(several: list[Array], until: float) -> None:
    every = [points["value"][(points["time"] <= until) & np.isfinite(points["value"])] for points in several]
    found = result(total([tree(points) for points in several], until))
    assert np.isclose(found, sum(values.sum() for values in every), rtol=1e-9, atol=1e-9)


def test_few_blocks_are_opened() -> None:
    points = np.zeros(300_000, POINT)
    points["time"] = points["samples"] = np.arange(len(points))
    points["value"][200_123:] = 1.0
    opened: list[Place] = []
    found = result(first([tree(points)], Goal(1.0, rising=True)), opened)
    assert found
    assert found[1]["time"] == 200_123
    assert opened == [(2, 0), (1, 12), (0, 781)]
