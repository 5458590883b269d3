"""Elastic averaging (cards 2.4 and 2.5): what an exchange conserves, and what is left of the rule without spring or momentum."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch

from gradstream.sim.toys import NoisyToy, Toy, job
from gradstream.spec import JobSpec
from tests.laws.driver import Driver, Run
from tests.laws.problems import close, serial, slopes, vector

GATES = ["bsp", "asp", {"ssp": 1}]
NAMES = ["easgd", "eamsgd"]


def elastic(name: str = "easgd", *, workers: int = 4, steps: int = 24, gate: Any = "asp", **settings: Any) -> JobSpec:
    return job({"name": name, "lr": 0.005, "window": 3, "alpha": 0.2, **settings}, workers=workers, steps=steps, gate=gate)


def burst(rank: int, position: int) -> torch.Tensor:
    """Everybody runs somewhere else in its first window, then the ground is flat."""
    return vector(rank + 1.0, 0.3 - rank) if position < 3 else vector(0.0, 0.0)


def pushes(run: Run, rank: int) -> list[Any]:
    return [u for fold in run.folds for u in fold.updates if u.rank == rank]


@pytest.mark.parametrize("gate", GATES, ids=str)
@pytest.mark.parametrize("name", NAMES)
class TestExchange:
    def test_moves_the_center_by_alpha_times_all_distances_from_where_it_was(self, name: str, gate: Any, driver: Driver) -> None:
        run = driver.run(elastic(name, gate=gate), NoisyToy, schedule="random")
        assert any(len(fold.updates) > 1 for fold in run.folds) == (gate == "bsp")
        for fold in run.folds:
            close(fold.after - fold.before, sum(0.2 * (u.x - fold.before) for u in fold.updates), 1e-14)

    def test_conserves_worker_plus_center_to_one_ulp(self, name: str, gate: Any, driver: Driver) -> None:
        """What the center gains is what the worker is told to give, to the bit; each rounds once when it adds that."""
        run = driver.run(elastic(name, gate=gate), NoisyToy, schedule="random")
        for fold in run.folds:
            given, center = sum(u.response for u in fold.updates), fold.before.clone()
            for u in fold.updates:
                center += u.response
            assert torch.equal(center, fold.after)
            ulp = torch.maximum(fold.before.abs(), fold.after.abs()) * torch.finfo(torch.float64).eps
            assert bool(((fold.after - fold.before - given).abs() <= len(fold.updates) * ulp).all())

    def test_is_taken_off_the_worker_as_it_was_put_on_the_center(self, name: str, gate: Any, driver: Driver) -> None:
        """On flat ground x_i is where the last exchange left it, and center + sum of x_i is the same all the time."""
        run = driver.run(elastic(name, gate=gate, steps=36, **({"delta": 0} if name == "eamsgd" else {})), slopes(burst))
        for rank in range(4):
            mine = pushes(run, rank)
            for one, following in pairwise(mine[1:]):
                assert torch.equal(one.x - one.response, following.x)
        total = run.center + sum(run.workers.values())
        moved = sum(3 * -0.005 * burst(rank, 0) for rank in range(4))
        close(total, moved, 1e-15)

    def test_all_distances_shrink_on_flat_ground(self, name: str, gate: Any, driver: Driver) -> None:
        run = driver.run(elastic(name, gate=gate, steps=60, **({"delta": 0.5} if name == "eamsgd" else {})), slopes(burst))
        first, last = (max(float(u.response.norm()) for u in part) for part in (_round(run, 1), _round(run, -1)))
        assert 0 < last < 0.05 * first

    def test_without_a_spring_there_are_n_independent_runs(self, name: str, gate: Any, driver: Driver) -> None:
        settings = {"delta": 0.0} if name == "eamsgd" else {}
        run = driver.run(elastic(name, gate=gate, alpha=0, steps=10, **settings), NoisyToy)
        assert run.center.tolist() == [3, 4]
        for rank, theta in run.workers.items():
            assert torch.equal(theta, serial(NoisyToy(elastic(), rank), 10, 0.005))

    def test_partial_windows_are_trained_and_what_was_trained_is_exchanged(self, name: str, gate: Any, driver: Driver) -> None:
        run = driver.run(elastic(name, gate=gate, steps=7), NoisyToy, schedule="random")
        for rank in range(4):
            assert [u.steps for u in pushes(run, rank)] == [0, 3, 3, 1]


def _round(run: Run, number: int) -> list[Any]:
    """The pushes of all ranks in one round of theirs."""
    return [pushes(run, rank)[number] for rank in range(4)]


def test_identical_workers_stay_identical(driver: Driver) -> None:
    run = driver.run(elastic(gate="bsp"), Toy)
    assert all(torch.equal(theta, run.workers[0]) for theta in run.workers.values())


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_eamsgd_without_momentum_is_easgd(gate: Any, driver: Driver) -> None:
    elastic_, eamsgd = (
        driver.run(elastic(name, gate=gate, **more), NoisyToy, schedule="random")
        for name, more in (("easgd", {}), ("eamsgd", {"delta": 0.0}))
    )
    close(elastic_.center, eamsgd.center)
    assert [d.rank for d in elastic_.decisions] == [d.rank for d in eamsgd.decisions]


@pytest.mark.parametrize("delta", [0.5, 0.9])
def test_eamsgd_looks_ahead_along_its_velocity(delta: float, driver: Driver) -> None:
    """Alone and without a spring it is Nesterov's method: the gradient is taken at x + delta v, and lr counts once."""
    run = driver.run(elastic("eamsgd", workers=1, alpha=0, delta=delta, steps=20), Toy)
    toy = Toy(elastic(workers=1), 0)
    x, v = toy.theta.clone(), torch.zeros(2, dtype=torch.float64)
    for t in range(20):
        toy.theta.copy_(x + delta * v)
        v = delta * v - 0.005 * toy.gradient(t).g
        x = x + v
    close(run.workers[0], x)


def test_alpha_is_a_share_of_0_9_by_default(driver: Driver) -> None:
    run = driver.run(elastic(workers=3, alpha=None), NoisyToy)
    for fold in run.folds:
        close(fold.after - fold.before, 0.3 * (fold.updates[0].x - fold.before), 1e-14)
