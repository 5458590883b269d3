"""Workers that are lost, come back, and come late, in virtual time."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gradstream import sim
from gradstream.sim.times.costs import Costs
from gradstream.sim.toys import NoisyToy, Toy, job
from tests.unit.same import difference

STRATEGIES = ["async", "sync", "adag", "easgd", "geo", "downpour", "local_sgd", "delayed_diloco"]


@pytest.mark.few(4)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_ledger_closes_whoever_is_lost(strategy: str, seed: int) -> None:
    spec = job({"name": strategy, "lr": 0.001}, workers=5, steps=200)
    costs = Costs(speeds="lognormal:0.5", latency=0.3, bandwidth=50.0, apply=0.02)
    run = sim.run(spec, NoisyToy, costs=costs, mtbf=60, down=5, joins={4: 30.0}, seed=seed)
    assert run.failures > 3
    outcomes = {rank: [d.outcome for d in run.decisions if d.rank == rank] for rank in range(5)}
    for rank, account in run.ledger.items():
        assert account.pending == 0
        for outcome in ("applied", "deferred", "dropped"):
            assert outcomes[rank].count(outcome) == getattr(account, outcome)
    assert run.shards[0]["members"]["positions"] == dict.fromkeys(range(5), 200), "what was lost was made again"
    assert 0 in run.checkpoints


@pytest.mark.more
def test_incarnations_last_as_long_as_they_should() -> None:
    run = sim.run(job({"name": "async", "lr": 1e-4}, workers=10), Toy, costs=Costs(), until=2000.0, mtbf=50, down=50)
    assert run.failures == pytest.approx(10 * 2000 / 100, rel=0.15)
    assert run.events == pytest.approx(10 * 2000 / 2, rel=0.1), "they are down half of the time"


def test_without_a_next_incarnation_the_others_go_on() -> None:
    run = sim.run(job({"name": "sync", "lr": 0.001}, workers=6, steps=100), Toy, costs=Costs(), mtbf=80, down=None)
    assert 0 < run.failures <= 6
    assert {d.incarnation for d in run.decisions} == {0}


def test_who_comes_late_begins_at_the_center() -> None:
    run = sim.run(job({"name": "async", "lr": 0.01}, workers=3, steps=50), Toy, costs=Costs(), joins={0: 20.5, 2: 30.0})
    first = {rank: next(at for at, d in zip(run.times, run.decisions, strict=True) if d.rank == rank) for rank in range(3)}
    assert first == {1: 1.0, 0: 21.5, 2: 31.0}
    assert run.losses[2][0] < run.losses[1][0] / 100
    assert 0 in run.checkpoints


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_checkpoint_is_resumed_exactly_with_who_is_away(strategy: str) -> None:
    window = {"window": 4} if strategy in ("geo", "local_sgd", "delayed_diloco") else {}
    spec = job({"name": strategy, "lr": 0.001, **window}, workers=5, steps=80)
    options: dict[str, Any] = {
        "costs": Costs(speeds="lognormal:0.5", latency=0.3, bandwidth=80.0, apply=0.02),
        "mtbf": 50,
        "down": 25,
        "joins": {3: 60.0},
    }
    away = 0
    pushes = sim.run(spec, NoisyToy, **options).events
    for asked in range(1, pushes, max(1, pushes // 8)):
        whole = sim.run(spec, NoisyToy, checkpoints={asked}, **options)
        if asked not in whole.checkpoints:
            continue  # a worker was lost while it was made, or all had left
        checkpoint = whole.checkpoints[asked]
        away += bool(checkpoint.service["incarnations"]["absent"])
        rest = sim.run(spec, NoisyToy, resume=checkpoint, **options)
        assert difference(whole.shards, rest.shards) is None
        assert rest.time == whole.time
    assert away


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mtbf": 0}, "mtbf"),
        ({"mtbf": 1, "down": -1}, "down"),
        ({"joins": {3: 1.0}}, "no worker 3"),
        ({"joins": {0: 0.0}}, "above 0"),
        ({"joins": {0: math.inf}}, "above 0"),
        ({"joins": {0: 1.0, 1: 1.0}}, "one worker at least"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sim.run(job({"name": "async"}, workers=2), Toy, events=1, **options)
