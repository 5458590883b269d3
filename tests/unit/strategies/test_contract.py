"""What every strategy must do under each gate that it says it is meant for. A new one is tested as soon as it stands in
the union, with its default settings (windows made small)."""

from __future__ import annotations

import pkgutil
from typing import Any

import pytest
import torch

from gradstream import sim, strategies
from gradstream.sim.toys import NoisyToy, Toy
from gradstream.strategies import STRATEGIES
from tests.unit.same import difference
from tests.unit.strategies.cases import CASES, as_id, every_case, spec, workers

SEEDS = range(3)


def test_every_file_is_in_the_union() -> None:
    files = {module.name.rstrip("_") for module in pkgutil.iter_modules(strategies.__path__)} - {"base"}
    assert files == set(STRATEGIES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_default_gate_is_one_that_it_is_meant_for(name: str) -> None:
    assert STRATEGIES[name].gate.mode in STRATEGIES[name].gates


@every_case
def test_the_same_run_again_has_the_same_bits(name: str, gate: dict[str, Any]) -> None:
    one, two = (sim.run(spec(name, gate), NoisyToy, events=40, schedule="random") for _ in range(2))
    assert torch.equal(one.center, two.center)
    assert one.decisions == two.decisions


@every_case
def test_any_number_of_shards_and_repeated_entries_have_the_same_bits(name: str, gate: dict[str, Any]) -> None:
    one = sim.run(spec(name, gate), NoisyToy, events=60, schedule="random")
    two = sim.run(spec(name, gate, shards=2), NoisyToy, events=60, schedule="random", duplicates=0.4)
    assert torch.equal(one.center, two.center)
    assert one.decisions == two.decisions


@every_case
def test_trains_to_the_end_and_finds_the_minimum(name: str, gate: dict[str, Any]) -> None:
    run = sim.run(spec(name, gate, steps=1200), Toy, schedule="random")
    assert run.center.tolist() == pytest.approx([1, 3], abs=0.05)
    assert {rank: len(losses) for rank, losses in run.losses.items()} == dict.fromkeys(range(workers(name)), 1200)
    assert {account.pending for account in run.ledger.values()} == {0}
    assert sum(account.pushed for account in run.ledger.values()) == run.events == len(run.decisions)
    assert run.version <= sum(account.applied for account in run.ledger.values())


@every_case
def test_what_the_gate_promises(name: str, gate: dict[str, Any]) -> None:
    run = sim.run(spec(name, gate), NoisyToy, events=300, schedule="random", speeds=[1, 1, 2, 3][: workers(name)])
    match gate["mode"]:
        case "bsp":
            assert set(run.staleness) == {0}
        case "asp":
            assert max(run.staleness) < gate.get("max_staleness", 300)
        case "ssp":
            clocks = [0] * workers(name)
            for decision in run.decisions:
                clocks[decision.rank] += 1
                assert max(clocks) - min(clocks) <= gate["bound"] + 1


@every_case
def test_lost_workers_come_back_and_train_the_rest(name: str, gate: dict[str, Any]) -> None:
    n = workers(name)
    deaths = [sim.Death(event, rank % n) for event, rank in ((3, 1), (5, 0), (5, 2), (8, 1), (9, 3))]
    run = sim.run(spec(name, gate, steps=30), NoisyToy, schedule="random", deaths=deaths)
    assert {rank: shard["members"]["positions"][rank] for rank in range(n) for shard in run.shards} == dict.fromkeys(range(n), 30)
    assert {account.pending for account in run.ledger.values()} == {0}


@pytest.mark.parametrize(("name", "gate"), [(name, gate) for name, gate in CASES if workers(name) > 1], ids=as_id)
def test_a_lost_worker_that_stays_away_stops_nobody(name: str, gate: dict[str, Any]) -> None:
    run = sim.run(spec(name, gate, steps=30), NoisyToy, schedule="random", deaths=[sim.Death(7, 2, respawn=False)])
    positions = run.shards[0]["members"]["positions"]
    assert [positions[rank] for rank in (0, 1, 3)] == [30, 30, 30]
    assert positions.get(2, 0) < 30


@every_case
@pytest.mark.parametrize("shards", [1, 2])
def test_a_run_resumed_from_a_cut_equals_the_one_that_went_on(name: str, gate: dict[str, Any], shards: int) -> None:
    """In everything: center, optimizers, slots, ledger, time, the losses of each worker; and it is cut again alike."""
    for seed in SEEDS:
        first, second = 4 + 13 * seed, 60 + seed
        whole = simulate(name, gate, shards, seed, {first, second}, None)
        assert whole.cuts.keys() == {first, second}
        for number in (first, second):
            rest = simulate(name, gate, shards, seed, {n for n in (second,) if n > number}, whole.cuts[number])
            assert difference(numbers(whole.shards), numbers(rest.shards)) is None
            assert rest.time == whole.time
            assert (
                difference({rank: whole.losses[rank][-len(losses) :] for rank, losses in rest.losses.items()}, rest.losses) is None
            )
            if number == first:
                assert difference(numbers(whole.cuts[second].shards), numbers(rest.cuts[second].shards)) is None
                assert difference(whole.cuts[second].workers, rest.cuts[second].workers) is None


def simulate(name: str, gate: dict[str, Any], shards: int, seed: int, cuts: set[int], resume: sim.Cut | None) -> sim.Result:
    made, speeds = spec(name, gate, shards=shards), [1, 1, 2, 0.5][: workers(name)]
    return sim.run(made, NoisyToy, events=100, schedule="random", seed=seed, speeds=speeds, cuts=cuts, resume=resume)


def numbers(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The state of shards without what a new attempt counts anew: entries of a life, and lives."""
    return [shard | {"gate": shard["gate"] | {"pending": _of_pending(shard["gate"])}} for shard in shards]


def _of_pending(gate: dict[str, Any]) -> list[Any]:
    return [({**push, "seq": 0, "incarnation": 0}, x) for push, x in gate.get("pending", [])]
