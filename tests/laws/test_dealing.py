"""Mini-batches dealt on demand: each counts once, whoever trains it, and a worker alone trains as with a share of its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream.sim.toys import NoisyToy, job
from gradstream.spec import JobSpec
from gradstream.training.granted import GrantedBatches
from tests.laws.driver import Driver
from tests.laws.problems import Slope

RATE = 0.125
STRATEGIES: dict[str, tuple[dict[str, Any], Any]] = {
    "async": ({"name": "async"}, "asp"),
    "async, ssp": ({"name": "async"}, {"ssp": 1}),
    "dc_asgd": ({"name": "dc_asgd"}, "asp"),
    "dynsgd": ({"name": "dynsgd", "window": 3}, "asp"),
    "adag": ({"name": "adag", "window": 4}, "asp"),
    "downpour": ({"name": "downpour", "n_push": 3, "n_fetch": 2}, "asp"),
    "easgd": ({"name": "easgd", "window": 3}, "asp"),
    "eamsgd": ({"name": "eamsgd", "window": 3}, "asp"),
    "geo": ({"name": "geo", "window": 5, "delay": 2}, "asp"),
    "delayed_diloco": ({"name": "delayed_diloco", "window": 4}, "asp"),
}


def dealt(name: str, **more: Any) -> JobSpec:
    strategy, gate = STRATEGIES[name]
    return job({"lr": 0.01, **strategy}, gate=gate, **{"data": {"deal": "demand"}, **more})


class OnePlace(Slope):
    """The gradient of mini-batch number i is 1 in place i and 0 elsewhere, so the center counts how often each was learned."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        self.planned = (spec.stop.steps or 0) * spec.roles.worker.count
        super().__init__(spec, rank, lambda rank, number: torch.eye(self.planned, dtype=torch.float64)[number])

    def take_from(self, granted: GrantedBatches) -> None:
        """Do nothing: the number says all."""


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("steps", [1, 37])
def test_a_worker_alone_has_the_bits_of_shares(name: str, steps: int, driver: Driver) -> None:
    shares = driver.run(dealt(name, steps=steps, data={}), NoisyToy)
    demand = driver.run(dealt(name, steps=steps), NoisyToy)
    assert torch.equal(demand.center, shares.center)
    assert demand.decisions == shares.decisions


@pytest.mark.parametrize("name", ["async", "adag"])
def test_a_worker_alone_has_the_bits_of_shares_with_overlapping_rounds(name: str, driver: Driver) -> None:
    shares, demand = (driver.run(dealt(name, steps=23, pipeline=1, data={"deal": deal}), NoisyToy) for deal in ("shares", "demand"))
    assert torch.equal(demand.center, shares.center)
    assert demand.decisions == shares.decisions


@pytest.mark.parametrize("steps", [2, 13])
@pytest.mark.parametrize("pipeline", [0, 1])
def test_each_mini_batch_counts_once(pipeline: int, steps: int, driver: Driver) -> None:
    spec = job({"name": "async", "lr": RATE}, workers=3, steps=steps, pipeline=pipeline, data={"deal": "demand"})
    run = driver.run(spec, OnePlace, free=True)
    assert run.center.tolist() == [-RATE] * (3 * steps)


@pytest.mark.parametrize("steps", [2, 13])
@pytest.mark.parametrize("windows", [(1, 1), (3, 2), (4, 4), (20, 3)])
def test_each_mini_batch_counts_once_whatever_the_window(windows: tuple[int, int], steps: int, driver: Driver) -> None:
    n_push, n_fetch = windows
    strategy = {"name": "downpour", "n_push": n_push, "n_fetch": n_fetch, "lr": RATE}
    run = driver.run(job(strategy, workers=3, steps=steps, data={"deal": "demand"}), OnePlace, free=True)
    assert run.center.tolist() == [-RATE] * (3 * steps)


@pytest.mark.parametrize("window", [1, 4, 9])
@pytest.mark.parametrize("delay", [0, 3])
def test_nothing_is_lost_where_rounds_keep_some_back(window: int, delay: int, driver: Driver) -> None:
    strategy = {"name": "geo", "window": window, "delay": min(delay, window - 1), "lr": RATE}
    run = driver.run(job(strategy, workers=3, steps=13, gate="asp", data={"deal": "demand"}), OnePlace, free=True)
    torch.testing.assert_close(run.center, torch.full_like(run.center, -RATE), rtol=0, atol=1e-12)
