"""The simulator and ten lines of numpy per algorithm come to the same center to 1e-9: for other numbers of workers, windows, orders
of arrival and learning-rate schedules than the golden values have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gradstream import sim
from gradstream.sim.toys import Toy, job
from tests.unit.independent import rules
from tests.unit.independent.rules import Rate

LR = 0.003
WORKERS = [1, 2, 3, 8]
WINDOWS = [1, 7]
ORDERS: list[dict[str, Any]] = [{"schedule": "round-robin"}, {"schedule": "random", "seed": 5}]
PLANS: list[tuple[dict[str, Any], Rate]] = [
    ({"name": "constant"}, lambda seen: LR),
    ({"name": "step", "every": 500, "to": 0.5, "warmup": 200}, lambda seen: LR * min(1, (seen + 1) / 201) * 0.5 ** (seen // 500)),
    (
        {"name": "cosine", "over": 2000, "to": 0.1},
        lambda seen: LR * (0.1 + 0.9 * (1 + math.cos(math.pi * min(1, seen / 2000))) / 2),
    ),
]

every_n = pytest.mark.parametrize("n", WORKERS)
every_window = pytest.mark.parametrize("window", WINDOWS)
every_order = pytest.mark.parametrize("order", ORDERS, ids=lambda order: order["schedule"])
every_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan[0]["name"])


def run(
    name: str, n: int, events: int, gate: Any = None, order: dict[str, Any] = ORDERS[0], plan: Any = None, **settings: Any
) -> Any:
    more = {"schedule": plan} if plan else {}
    return sim.run(job({"name": name, "lr": LR, **settings}, workers=n, gate=gate, **more), Toy, events=events, **order)


def arrivals(done: sim.Result) -> Sequence[int]:
    return [decision.rank for decision in done.decisions]


def same(done: sim.Result, expected: Any) -> None:
    assert np.isfinite(expected).all()
    assert done.center.tolist() == pytest.approx(expected.tolist(), abs=1e-9, rel=0)


@every_n
@every_order
class TestGradients:
    @pytest.mark.parametrize("drop_from", [None, 1, 3])
    def test_async(self, n: int, order: dict[str, Any], drop_from: int | None) -> None:
        done = run("async", n, 50, {"mode": "asp", "max_staleness": drop_from}, order)
        same(done, rules.async_sgd(n, arrivals(done), LR, drop_from or 10**9))

    def test_dc_asgd(self, n: int, order: dict[str, Any]) -> None:
        done = run("dc_asgd", n, 50, order=order, lam=0.03)
        same(done, rules.dc_asgd(n, arrivals(done), LR, 0.03))

    def test_dc_asgd_adaptive(self, n: int, order: dict[str, Any]) -> None:
        done = run("dc_asgd", n, 50, order=order, lam=0.5, adaptive=True, decay=0.8, eps=1e-5)
        same(done, rules.dc_asgd_adaptive(n, arrivals(done), LR, 0.5, 0.8, 1e-5))


@every_n
@every_window
@every_order
class TestWindows:
    @pytest.mark.parametrize("name", ["adag", "dynsgd"])
    @every_plan
    def test_pushed_differences(self, name: str, n: int, window: int, order: dict[str, Any], plan: tuple[Any, Rate]) -> None:
        done = run(name, n, 40, order=order, plan=plan[0], window=window)
        same(done, getattr(rules, name)(n, arrivals(done), window, plan[1]))

    def test_downpour(self, n: int, window: int, order: dict[str, Any]) -> None:
        done = run("downpour", n, 30, order=order, n_push=window, n_fetch=window)
        same(done, rules.downpour(n, arrivals(done), window, PLANS[0][1]))

    def test_distance(self, n: int, window: int, order: dict[str, Any]) -> None:
        done = run("distance", n, 40, order=order, window=window, gamma=1e-3)
        same(done, rules.distance(n, arrivals(done), window, PLANS[0][1], 1e-3))

    @pytest.mark.parametrize("k", [1, 4])
    def test_delayed_diloco(self, n: int, window: int, order: dict[str, Any], k: int) -> None:
        done = run("delayed_diloco", n, 24, order=order, window=window, k=k)
        same(done, rules.delayed_diloco(n, arrivals(done), window, PLANS[0][1], k))

    def test_easgd(self, n: int, window: int, order: dict[str, Any]) -> None:
        done = run("easgd", n, 40, order=order, window=window, alpha=0.15)
        same(done, rules.elastic(n, arrivals(done), window, 0.15, 0.0, LR))

    def test_eamsgd(self, n: int, window: int, order: dict[str, Any]) -> None:
        done = run("eamsgd", n, 40, order=order, window=window, delta=0.7)
        same(done, rules.elastic(n, arrivals(done), window, 0.9 / n, 0.7, LR))

    def test_geo(self, n: int, window: int, order: dict[str, Any]) -> None:
        done = run("geo", n, 30, order=order, window=window)
        same(done, rules.geo(n, arrivals(done), window, LR))


@every_n
@every_plan
class TestRounds:
    def test_sync(self, n: int, plan: tuple[Any, Rate]) -> None:
        same(run("sync", n, 20 * n, plan=plan[0]), rules.sync(n, 20, plan[1]))

    @pytest.mark.parametrize(("name", "letter"), [("local_sgd", "window"), ("fedavg", "epochs")])
    @every_window
    def test_averages(self, name: str, letter: str, window: int, n: int, plan: tuple[Any, Rate]) -> None:
        same(run(name, n, 10 * n, plan=plan[0], **{letter: window}), rules.averaging(n, 10, window, plan[1]))

    @every_window
    def test_fedprox(self, window: int, n: int, plan: tuple[Any, Rate]) -> None:
        same(run("fedprox", n, 10 * n, plan=plan[0], epochs=window, mu=0.4), rules.averaging(n, 10, window, plan[1], 0.4))

    @every_window
    def test_diloco(self, window: int, n: int, plan: tuple[Any, Rate]) -> None:
        same(run("diloco", n, 10 * n, plan=plan[0], window=window), rules.diloco(n, 10, window, plan[1]))


@every_n
@every_window
class TestRoundsOfElasticAndGeo:
    def test_easgd(self, n: int, window: int) -> None:
        done = run("easgd", n, 20 * n, "bsp", window=window, alpha=0.1)
        same(done, rules.elastic_rounds(n, 20, window, 0.1, LR))

    def test_geo(self, n: int, window: int) -> None:
        same(run("geo", n, 8 * n, "bsp", window=window), rules.geo_rounds(n, 8, window, LR))


@every_window
@every_plan
def test_single(window: int, plan: tuple[Any, Rate]) -> None:
    same(run("single", 1, 12, plan=plan[0], window=window), rules.sync(1, 12 * window, plan[1]))
