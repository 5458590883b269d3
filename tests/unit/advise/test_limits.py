"""Every formula of `gradstream.advise.limits` against the simulator: below the limit swings die away, above it they grow."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gradstream.advise.limits import limit, rate, serial_limit
from gradstream.advise.roots import settles
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from tests.unit.advise.swings import growth

MOMENTUM = {"name": "sgd", "momentum": 0.9}
NESTEROV = {**MOMENTUM, "nesterov": True}
SERVER = {"server": {"optimizer": {"name": "sgd", "lr": 0.5, "momentum": 0.6}}}

CASES: list[tuple[dict[str, Any], int, dict[str, Any]]] = [
    ({"name": "single", "window": 4}, 1, {}),
    ({"name": "single", "window": 4}, 1, {"optimizer": MOMENTUM}),
    ({"name": "single", "window": 4}, 1, {"optimizer": NESTEROV}),
    ({"name": "sync"}, 4, {}),
    ({"name": "sync"}, 4, {"optimizer": NESTEROV}),
    ({"name": "sync"}, 4, {"gate": {"mode": "bsp", "quorum": 2}}),
    *[({"name": "async"}, n, {}) for n in (1, 2, 4, 8)],
    *[({"name": "async"}, n, {"pipeline": 1}) for n in (1, 2, 4)],
    ({"name": "async"}, 2, {"pipeline": 1, "optimizer": NESTEROV}),
    ({"name": "async"}, 4, {"pipeline": 1, "gate": {"mode": "asp", "max_staleness": 3}}),
    ({"name": "dc_asgd"}, 2, {"pipeline": 1}),
    ({"name": "adag", "window": 5}, 2, {"pipeline": 1}),
    ({"name": "dynsgd", "window": 4}, 2, {"pipeline": 1}),
    ({"name": "async"}, 4, {"optimizer": MOMENTUM}),
    ({"name": "async"}, 4, {"optimizer": NESTEROV}),
    ({"name": "async"}, 4, {"optimizer": {"name": "sgd", "momentum": 0.3, "momentum_correction": True}}),
    ({"name": "async"}, 6, {"gate": {"mode": "asp", "max_staleness": 3}}),
    ({"name": "async"}, 4, {"gate": {"ssp": 0}}),
    ({"name": "async"}, 4, {"gate": {"ssp": 2}}),
    ({"name": "dc_asgd"}, 4, {}),
    ({"name": "downpour", "n_push": 5, "n_fetch": 5}, 4, {}),
    ({"name": "downpour", "n_push": 4, "n_fetch": 4}, 2, {"optimizer": {"name": "sgd", "lr": 0.2}}),
    *[({"name": "adag", "window": window}, 4, {}) for window in (1, 5, 12)],
    ({"name": "adag", "window": 5}, 3, {"gate": "bsp"}),
    ({"name": "adag", "window": 5}, 4, {"roles": SERVER}),
    *[({"name": "dynsgd", "window": window}, 4, {}) for window in (1, 4, 5)],
    ({"name": "dynsgd", "window": 2}, 4, {"gate": {"ssp": 0}}),
    ({"name": "dynsgd", "window": 2}, 6, {"gate": {"mode": "asp", "max_staleness": 3}}),
    ({"name": "local_sgd", "window": 7}, 3, {}),
    ({"name": "local_sgd", "window": 7}, 3, {"optimizer": MOMENTUM}),
    ({"name": "local_sgd", "window": 3}, 3, {"roles": SERVER}),
    ({"name": "fedavg"}, 3, {}),
    ({"name": "diloco", "window": 5}, 3, {}),
    ({"name": "diloco", "window": 4}, 3, {}),
    ({"name": "delayed_diloco", "window": 3}, 3, {}),
    ({"name": "delayed_diloco", "window": 3}, 3, {"gate": {"ssp": 0}}),
    *[({"name": "delayed_diloco", "window": 3}, n, {"pipeline": 1}) for n in (1, 2, 4)],
    ({"name": "delayed_diloco", "window": 3}, 3, {"pipeline": 1, "roles": SERVER}),
    *[({"name": "geo", "window": window}, n, {}) for window in (1, 5) for n in (1, 3, 4)],
    ({"name": "geo", "window": 5}, 4, {"gate": "bsp"}),
    *[({"name": "easgd", "window": 1, "alpha": 0.5}, n, {}) for n in (1, 2, 3, 4)],
    ({"name": "easgd", "window": 4}, 4, {}),
    ({"name": "easgd", "window": 4}, 4, {"optimizer": MOMENTUM}),
    ({"name": "easgd", "window": 3, "alpha": 0.3}, 4, {"optimizer": NESTEROV}),
    ({"name": "easgd", "window": 3, "alpha": 0.2}, 4, {"gate": "bsp"}),
    ({"name": "eamsgd", "window": 4}, 4, {}),
    ({"name": "eamsgd", "window": 2, "alpha": 0.2}, 3, {"gate": "bsp"}),
]


def _one_of_each_formula() -> list[Any]:
    """The cases; what differs from an earlier one by a number alone is left to `make test-long`."""
    marked, seen = [], list[Any]()
    for strategy, workers, more in CASES:
        formula = (strategy["name"], workers == 1, strategy.get("window") == 1, more)
        marked.append(pytest.param(strategy, workers, more, marks=pytest.mark.long if formula in seen else ()))
        seen.append(formula)
    return marked


@pytest.mark.few(4)
@pytest.mark.parametrize(("strategy", "workers", "more"), _one_of_each_formula(), ids=str)
def test_swings_die_away_below_the_limit_and_grow_above_it(strategy: dict[str, Any], workers: int, more: dict[str, Any]) -> None:
    spec = job(strategy, workers=workers, **more)
    highest = limit(spec)
    assert highest is not None
    h = highest / rate(spec)
    events = max(30, 240 // strategy.get("window", strategy.get("n_push", 1))) * workers
    assert growth(spec, 0.96 * h, events) < 1
    assert growth(spec, 1.04 * h, events) > 1


def exact(strategy: str, workers: int, gate: str | None = None, **settings: Any) -> float | None:
    return limit(job({"name": strategy, **settings}, workers=workers, gate=gate))


def test_async_and_dynsgd_have_the_limits_of_the_literature() -> None:
    for n in (1, 2, 4, 16, 1000):
        alone = 2 * math.sin(math.pi / (2 * (2 * n - 1)))
        assert exact("async", n) == pytest.approx(alone)
        assert exact("dynsgd", n, window=1) == pytest.approx(1 + min(n * alone - 1, 1))


@pytest.mark.parametrize(("workers", "h"), [(1, 0.5), (2, 1.0), (3, 1.0), (7, 0.4)])
def test_elastic_averaging_in_turn_stands_the_papers_bound(workers: int, h: float) -> None:
    """0 <= alpha <= (4 - 2 h) / (4 - h): exact for odd n, and for n = 2 and h = 1 it is 1 / sqrt(2) instead."""
    bound = math.sqrt(0.5) if workers == 2 else (4 - 2 * h) / (4 - h)
    below, above = (exact("easgd", workers, window=1, alpha=share * bound) for share in (0.999, 1.001))
    assert below is not None
    assert above is not None
    assert above < h < below


def test_synchronous_elastic_averaging_stands_no_curvature_from_two_nth_on() -> None:
    assert exact("easgd", 4, gate="bsp", alpha=0.39)
    assert exact("easgd", 4, gate="bsp", alpha=0.41) == 0.0


def test_many_elastic_workers_stand_what_24_do() -> None:
    for window in (1, 10):
        some, many = (exact("easgd", n, window=window, alpha=0.02) for n in (24, 200))
        assert many == pytest.approx(some, rel=0.01)


def test_momentum_costs_asynchronous_workers_more_than_a_serial_run() -> None:
    plain, heavy = job({"name": "async"}, workers=4), job({"name": "async"}, workers=4, optimizer=MOMENTUM)
    assert serial_limit(heavy) == pytest.approx(3.8)
    assert (limit(heavy) or 9) < 0.3 * (limit(plain) or 0)


@pytest.mark.parametrize(
    "spec",
    [
        job({"name": "distance"}),
        job({"name": "fedprox"}),
        job({"name": "async"}, optimizer={"name": "adam"}),
        job({"name": "downpour", "n_push": 2, "n_fetch": 3}),
        job({"name": "geo", "delay": 3}, workers=2),
        job({"name": "delayed_diloco", "k": 2}, workers=3),
        job({"name": "diloco"}, optimizer={"name": "adamw"}),
        job({"name": "adag"}, optimizer=MOMENTUM),
        job({"name": "easgd"}, optimizer={"name": "adagrad"}),
        job({"name": "async"}, workers=4, gate={"ssp": 0}, optimizer=MOMENTUM),
    ],
)
def test_what_is_not_known_is_not_invented(spec: JobSpec) -> None:
    assert limit(spec) is None


def test_every_limit_is_found_for_a_thousand_workers() -> None:
    for name, strategy in STRATEGIES.items():
        spec = job({"name": name}, workers=strategy.workers or 1000)
        assert limit(spec) is None or 0 < (limit(spec) or 0) <= 4


def test_roots_inside_the_unit_circle_settle() -> None:
    assert settles([1.0, -0.9])
    assert not settles([1.0, -1.1])
    assert settles([1.0, -1.2, 0.72])
    assert not settles([1.0, -1.6, 1.01])
    assert not settles([1.0, 0.0, 0.0, 1.0])


def test_the_rate_is_that_of_the_side_that_descends() -> None:
    assert rate(job({"name": "async", "lr": 0.3})) == 0.3
    assert rate(job({"name": "async"}, optimizer={"name": "sgd", "lr": 0.7})) == 0.7
    assert rate(job({"name": "downpour", "lr": 0.3}, optimizer={"name": "sgd", "lr": 0.7})) == 0.3
