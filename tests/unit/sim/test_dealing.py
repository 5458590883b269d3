"""Mini-batches dealt on demand, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.sim.times.costs import Costs
from gradstream.sim.toys import Bowl, NoisyToy, Toy, job
from gradstream.spec import JobSpec
from tests.laws.test_dealing import RATE, STRATEGIES, OnePlace


def dealt(strategy: dict[str, Any], **more: Any) -> JobSpec:
    return job({"lr": 1e-4, **strategy}, **{"gate": "asp", "data": {"deal": "demand"}, **more})


def seconds(spec: JobSpec, speeds: str) -> float:
    return sim.run(spec, Toy, costs=Costs(speeds=speeds)).time


class TestStragglers:
    """1,000 mini-batches; seven workers train one a second, and the last one takes seven seconds. Ideal: 1000 / (7 + 1/7)."""

    IDEAL = 140.0

    @pytest.mark.parametrize("prefetch", [0, 2, 8])
    def test_no_worker_waits_for_the_slow_one(self, prefetch: int) -> None:
        spec = dealt({"name": "async"}, workers=8, steps=125, data={"deal": "demand", "prefetch": prefetch})
        assert self.IDEAL <= seconds(spec, "straggler:7") <= self.IDEAL + 7

    def test_with_shares_all_wait_for_it(self) -> None:
        assert seconds(dealt({"name": "async"}, workers=8, steps=125, data={}), "straggler:7") == 875

    @pytest.mark.parametrize("window", [2, 5, 10])
    def test_windows_become_shorter_at_the_end(self, window: int) -> None:
        spec = dealt({"name": "adag", "window": window}, workers=8, steps=125)
        assert self.IDEAL <= seconds(spec, "straggler:7") <= self.IDEAL + 7

    def test_the_ledger_says_who_trained_how_many(self) -> None:
        result = sim.run(dealt({"name": "async"}, workers=8, steps=125), Toy, costs=Costs(speeds="straggler:7"))
        assert [result.ledger[rank].applied for rank in range(8)] == [140] * 7 + [20]

    def test_equal_workers_lose_nothing(self) -> None:
        for speeds in ("constant", "lognormal:0.3"):
            shares, demand = (
                seconds(dealt({"name": "adag", "window": 10}, workers=8, steps=125, data={"deal": deal}), speeds)
                for deal in ("shares", "demand")
            )
            assert demand <= 1.01 * shares


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strategy", [{"name": "async"}, {"name": "downpour", "n_push": 4, "n_fetch": 3}])
@pytest.mark.parametrize("gate", ["asp", {"ssp": 2}])
def test_each_mini_batch_counts_once_while_workers_die_and_come(strategy: dict[str, Any], gate: Any, seed: int) -> None:
    spec = dealt({**strategy, "lr": RATE}, workers=4, steps=30, gate=gate, retries=100)
    result = sim.run(spec, OnePlace, costs=Costs(speeds="lognormal:0.5"), seed=seed, mtbf=25.0, down=3.0, joins={2: 5.0})
    assert result.failures
    assert result.center.tolist() == [-RATE] * 120


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_resumed_job_has_the_bits_of_one_that_was_not_interrupted(name: str) -> None:
    strategy, gate = STRATEGIES[name]
    spec = dealt({**strategy, "lr": 0.01}, workers=3, steps=20, gate=gate)
    how: dict[str, Any] = {"costs": Costs(speeds="1,2,0.3"), "seed": 5}
    pushes = sim.run(spec, NoisyToy, **how).events
    for place in (pushes // 4, pushes // 2, 3 * pushes // 4):
        whole = sim.run(spec, NoisyToy, checkpoints=[place], **how)
        rest = sim.run(spec, NoisyToy, resume=whole.checkpoints[place], **how)
        assert torch.equal(rest.center, whole.center)
        assert rest.ledger == whole.ledger
        assert rest.shards[0]["dealer"] == whole.shards[0]["dealer"]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_dealt_twice_after_a_resume(seed: int) -> None:
    spec = dealt({"name": "downpour", "n_push": 3, "n_fetch": 3, "lr": RATE}, workers=4, steps=20)
    how: dict[str, Any] = {"costs": Costs(speeds="lognormal:0.5"), "seed": seed}
    whole = sim.run(spec, OnePlace, checkpoints=[10], **how)
    rest = sim.run(spec, OnePlace, resume=whole.checkpoints[10], mtbf=20.0, down=2.0, **how)
    assert rest.center.tolist() == [-RATE] * 80


def test_any_number_of_shards_deals_alike() -> None:
    one, three = (
        sim.run(dealt({"name": "async", "lr": 0.05}, workers=4, steps=30, shards=shards), Bowl, schedule="random", seed=3)
        for shards in (1, 3)
    )
    assert torch.equal(one.center, three.center)
