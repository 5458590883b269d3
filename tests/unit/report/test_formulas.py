"""What the formulas' runs measure is what theory, or another way to compute it, says."""

from __future__ import annotations

import random

import numpy
import pytest

from benchmarks.report import formulas
from benchmarks.report.experiments import stability


@pytest.mark.parametrize("name", ["async", "downpour", "adag", "dynsgd"])
@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("window", [1, 5])
def test_the_limit_is_where_a_root_of_the_recursion_leaves_the_unit_circle(name: str, n: int, window: int) -> None:
    if name == "async" and window > 1:
        return
    at = stability.limit(name, n, window)

    def largest_root(rate: float) -> float:
        left = numpy.prod([1 - rate] * window)
        a = {"adag": (1 - left) / window, "dynsgd": (1 - left) / n}.get(name, 1 - left)
        return float(max(abs(numpy.roots([1, -1, *[0] * (n - 2), a] if n > 1 else [1, a - 1]))))

    assert largest_root(0.99 * at) < 1 < largest_root(1.01 * at)


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "window", "n"), [("async", 1, 3), ("adag", 5, 2), ("dynsgd", 5, 3), ("downpour", 5, 2)])
def test_the_measured_edge_is_the_limit(name: str, window: int, n: int) -> None:
    found = formulas.edge(strategy=stability.job(name, window), workers=n, halvings=10, events=60 * n)
    assert found["edge"] == pytest.approx(stability.limit(name, n, window), rel=0.02)


def test_a_map_ends_far_out_above_the_edge_and_near_below_it() -> None:
    found = formulas.distances(strategy={"name": "async"}, workers=2, rates=[0.1, 1.5], events=200)
    [below, above] = found["ends"]
    assert below < -3
    assert above is None


@pytest.mark.parametrize("speeds", ["constant", "memoryless", "straggler:5"])
def test_staleness_is_n_minus_1_on_the_mean(speeds: str) -> None:
    found = formulas.staleness(workers=4, speeds=speeds, events=1500)
    assert found["mean"] == pytest.approx(3, abs=0.1)
    assert sum(count for _, count in found["histogram"]) == 1500


def test_the_fit_finds_the_momentum_of_a_process_that_is_not_the_product() -> None:
    n, own, drawn = 4, -0.25, random.Random(5)
    held, x, v, path = [0.0] * n, 0.0, 0.0, []
    for _ in range(60_000):
        who = drawn.randrange(n)
        v = own * v + held[who]
        x -= 0.4 * v
        held[who] = x + drawn.gauss(0, 1)
        path.append(x)
    added, pull = formulas.fit(numpy.array(path), own, instruments=20)
    assert added == pytest.approx(1 - 1 / n, abs=0.02)
    assert pull == pytest.approx(0.4 / n, abs=0.01)


@pytest.mark.more
def test_momentum_is_corrected_to_what_was_asked_for() -> None:
    found = formulas.momentum(workers=4, target=0.5, lr=0.4, events=8000)
    assert found["server"] == pytest.approx(0.5 - 0.75)
    assert found["total"] == pytest.approx(0.5, abs=0.1)
