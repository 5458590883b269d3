"""What every strategy must do under each gate that it says it is meant for. A new one is tested as soon as it stands in
the union, with its default settings (windows made small)."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from pydantic import ValidationError
from torch import nn

import backend
import gradstream
from gradstream import sim, strategies
from gradstream.center.parameters.buffers import CenterBuffers
from gradstream.sim.toys import NoisyToy, Toy, job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from gradstream.strategies.base import Strategy
from gradstream.training.problem import Gradient
from gradstream.training.replica import Replica
from tests.unit.same import difference
from tests.unit.strategies.cases import CASES, as_id, every_case, small, spec, workers
from tests.unit.strategies.fit import Fits

SEEDS = 3


def test_nothing_asks_for_a_strategy_by_its_name() -> None:
    """What is known about a strategy stands in its file, as attributes and methods."""
    roots = (Path(package.__path__[0]) for package in (gradstream, backend))
    files = [path for root in roots for path in root.rglob("*.py")]
    by_name = re.compile(r"strategy\.name (==|!=|in|not in) |\[[\w.]*strategy\.name\]|\.get\([\w.]*strategy\.name\)")
    assert len(files) > 100
    assert not [str(path) for path in files if by_name.search(path.read_text())]


def test_every_file_is_in_the_union() -> None:
    files = {module.name.rstrip("_") for module in pkgutil.iter_modules(strategies.__path__)} - {"base", "intent"}
    assert files == set(STRATEGIES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_default_gate_is_one_that_it_is_meant_for(name: str) -> None:
    assert STRATEGIES[name].gate.mode in STRATEGIES[name].gates


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_intent_is_named_and_reaches_the_web_form(name: str) -> None:
    intent = STRATEGIES[name].intent
    assert intent is not None, "set `intent` to one of gradstream.strategies.intent, by which users select it"
    [shown] = [part for part in JobSpec.model_json_schema()["$defs"].values() if _name_of(part) == name]
    assert shown["x-strategy"]["intent"] == intent._asdict()


def _name_of(part: dict[str, Any]) -> str | None:
    return part["properties"]["name"].get("const") if "x-strategy" in part else None


@every_case
def test_the_same_run_again_has_the_same_bits(name: str, gate: dict[str, Any]) -> None:
    one, two = (sim.run(spec(name, gate), NoisyToy, events=40, schedule="random") for _ in range(2))
    assert torch.equal(one.center, two.center)
    assert one.decisions == two.decisions


@pytest.mark.few(30)
@every_case
def test_any_number_of_shards_and_repeated_entries_have_the_same_bits(name: str, gate: dict[str, Any]) -> None:
    one = sim.run(spec(name, gate), NoisyToy, events=60, schedule="random")
    two = sim.run(spec(name, gate, shards=2), NoisyToy, events=60, schedule="random", duplicates=0.4)
    assert torch.equal(one.center, two.center)
    assert one.decisions == two.decisions


@pytest.mark.few(4)
@every_case
def test_trains_to_the_end_and_finds_the_minimum(name: str, gate: dict[str, Any]) -> None:
    if name == "delayed_diloco" and "pipeline" in gate:
        pytest.skip("its outer momentum of 0.9 does not bear another round of delay at this rate")
    run = sim.run(spec(name, gate, steps=600), Toy, schedule="random")
    assert run.center.tolist() == pytest.approx([1, 3], abs=0.05)
    assert {rank: len(losses) for rank, losses in run.losses.items()} == dict.fromkeys(range(workers(name)), 600)
    assert {account.pending for account in run.ledger.values()} == {0}
    assert sum(account.pushed for account in run.ledger.values()) == run.events == len(run.decisions)
    assert run.version <= sum(account.applied for account in run.ledger.values())


@pytest.mark.parametrize("name", [name for name, cls in STRATEGIES.items() if cls.pulls_every_round])
def test_a_round_that_pulls_leaves_theta_alone_when_the_next_center_may_be_arriving(name: str) -> None:
    """After its push; and where the server descends, theta is at the end what was pulled."""
    made = spec(name, {"mode": STRATEGIES[name].gate.mode})
    w, plain = (Replica(made, NoisyToy(made, 0)) for _ in range(2))
    ends = [_Ends(w, spoils=True), _Ends(plain, spoils=False)]
    for _ in range(5):
        for replica, ps in zip((w, plain), ends, strict=True):
            made.strategy.round(replica, ps)
    assert [len(ps.pushed) for ps in ends] == [5, 5]
    for spoilt, expected in zip(ends[0].pushed, ends[1].pushed, strict=True):
        assert torch.equal(spoilt, expected)
    if made.strategy.leaves_theta:
        assert torch.equal(plain.theta, ends[1].center)


class _Ends:
    """A center for one worker that descends along whatever is pushed."""

    def __init__(self, w: Replica, spoils: bool) -> None:
        self.center, self.pushed = w.theta.clone(), list[torch.Tensor]()
        self._next, self._w, self._spoils = self.center, w, spoils

    def pull(self, out: torch.Tensor) -> None:
        assert out is self._w.theta
        self.center = self._next
        out.copy_(self.center)

    def push(self, x: torch.Tensor) -> None:
        self.pushed.append(x.clone())
        self._next = self.center - 0.01 * x
        if self._spoils:
            self._w.theta.fill_(float("nan"))

    def exchange(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        raise AssertionError("only for strategies that are answered")

    post = wait = exchange


@pytest.mark.few(10)
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


@pytest.mark.few(30)
@every_case
def test_lost_workers_come_back_and_train_the_rest(name: str, gate: dict[str, Any]) -> None:
    n = workers(name)
    failures = [sim.WorkerFailure(event, rank % n) for event, rank in ((3, 1), (5, 0), (5, 2), (8, 1), (9, 3))]
    run = sim.run(spec(name, gate, steps=30), NoisyToy, schedule="random", failures=failures)
    assert {rank: shard["members"]["positions"][rank] for rank in range(n) for shard in run.shards} == dict.fromkeys(range(n), 30)
    assert {account.pending for account in run.ledger.values()} == {0}


@pytest.mark.few(40)
@pytest.mark.parametrize(("name", "gate"), [(name, gate) for name, gate in CASES if workers(name) > 1], ids=as_id)
def test_a_lost_worker_that_stays_away_stops_nobody(name: str, gate: dict[str, Any]) -> None:
    run = sim.run(spec(name, gate, steps=30), NoisyToy, schedule="random", failures=[sim.WorkerFailure(7, 2, respawn=False)])
    positions = run.shards[0]["members"]["positions"]
    assert [positions[rank] for rank in (0, 1, 3)] == [30, 30, 30]
    assert positions.get(2, 0) < 30


@pytest.mark.few(20)
@every_case
@pytest.mark.parametrize("shards", [pytest.param(1, marks=pytest.mark.long), 2])
def test_a_run_resumed_from_a_checkpoint_equals_the_one_that_went_on(name: str, gate: dict[str, Any], shards: int) -> None:
    """In everything: center, optimizers, slots, ledger, time, the losses of each worker; and its next checkpoint is the same. The
    cases of a strategy share out the seeds."""
    seed = (CASES.index((name, gate)) + shards) % SEEDS
    first, second = 4 + 13 * seed, 60 + seed
    whole = simulate(name, gate, shards, seed, {first, second}, None)
    assert whole.checkpoints.keys() == {first, second}
    for number in (first, second):
        rest = simulate(name, gate, shards, seed, {n for n in (second,) if n > number}, whole.checkpoints[number])
        assert difference(numbers(whole.shards), numbers(rest.shards)) is None
        assert rest.time == whole.time
        assert difference({rank: whole.losses[rank][-len(losses) :] for rank, losses in rest.losses.items()}, rest.losses) is None
        if number == first:
            assert difference(numbers(whole.checkpoints[second].shards), numbers(rest.checkpoints[second].shards)) is None
            assert difference(whole.checkpoints[second].workers, rest.checkpoints[second].workers) is None


def simulate(
    name: str, gate: dict[str, Any], shards: int, seed: int, checkpoints: set[int], resume: sim.SimulatedCheckpoint | None
) -> sim.Result:
    made, speeds = spec(name, gate, shards=shards), [1, 1, 2, 0.5][: workers(name)]
    return sim.run(made, NoisyToy, events=100, schedule="random", seed=seed, speeds=speeds, checkpoints=checkpoints, resume=resume)


def numbers(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The state of shards without what a new attempt counts anew: entries of an incarnation, and incarnations."""
    return [shard | {"gate": shard["gate"] | {"pending": _of_pending(shard["gate"])}} for shard in shards]


def _of_pending(gate: dict[str, Any]) -> list[Any]:
    return [({**push, "seq": 0, "incarnation": 0}, x) for push, x in gate.get("pending", [])]


@every_case
def test_all_that_was_trained_is_pushed_also_partial_windows(name: str, gate: dict[str, Any]) -> None:
    """17 mini-batches are no multiple of any window here."""
    run = sim.run(spec(name, gate, steps=17), NoisyToy, schedule="random")
    for rank in range(workers(name)):
        mine = [decision for decision in run.decisions if decision.rank == rank]
        assert (sum(d.steps for d in mine), sum(d.examples for d in mine)) == (17, 17 * 32)


@every_case
def test_only_pushes_that_count_advance_the_version(name: str, gate: dict[str, Any]) -> None:
    """By 1 for each change of the center: under bsp for a round, else for each applied push."""
    seen = sim.run(spec(name, gate), NoisyToy, events=60, schedule="random")
    applied = [decision for decision in seen.decisions if decision.outcome == "applied"]
    if gate["mode"] == "bsp":
        assert 0 < seen.version <= len(applied) <= seen.version * workers(name)
    else:
        assert seen.version == len(applied) > 0
    assert seen.samples == sum(decision.examples for decision in seen.decisions if decision.outcome != "dropped")


@pytest.mark.parametrize("name", [name for name in STRATEGIES if "asp" in STRATEGIES[name].gates and workers(name) > 1])
class TestWarmStart:
    GATE: ClassVar[dict[str, Any]] = {"mode": "asp", "warm_start": 640}

    def test_the_lowest_rank_trains_alone_until_the_samples_are_seen(self, name: str) -> None:
        run = sim.run(spec(name, self.GATE, steps=40), NoisyToy, schedule="random")
        samples, alone = 0, 0
        for decision in run.decisions:
            if samples < 640 and decision.examples:
                assert decision.rank == 0
                alone += decision.steps
            samples += decision.examples
        assert alone >= 20
        assert {rank: len(losses) for rank, losses in run.losses.items()} == dict.fromkeys(range(4), 40)

    @pytest.mark.parametrize("respawn", [True, False])
    def test_its_death_stops_nobody(self, name: str, respawn: bool) -> None:
        failures = [sim.WorkerFailure(3, 0, respawn=respawn), sim.WorkerFailure(4, 1, respawn=respawn)]
        run = sim.run(spec(name, self.GATE, steps=40), NoisyToy, schedule="random", failures=failures)
        positions = run.shards[0]["members"]["positions"]
        assert [positions[rank] for rank in ((0, 1, 2, 3) if respawn else (2, 3))] == [40] * (4 if respawn else 2)
        assert run.samples >= 640

    def test_one_that_ends_before_the_samples_frees_its_place_for_the_next(self, name: str) -> None:
        run = sim.run(spec(name, {"mode": "asp", "warm_start": 10**6}, steps=10), NoisyToy, schedule="random")
        ranks = [decision.rank for decision in run.decisions if decision.examples]
        assert ranks == sorted(ranks)
        assert set(ranks) == {0, 1, 2, 3}


class Normed(Fits):
    """A network with BatchNorm, and a data set that gives one worker more than the others."""

    def model(self) -> nn.Module:
        torch.manual_seed(7)
        return nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def normed(name: str, shards: int = 1, **more: Any) -> JobSpec:
    gate = {"mode": STRATEGIES[name].gate.mode}
    given = {**small(STRATEGIES[name]), "lr": 0.02}
    return job(given, workers=workers(name), shards=shards, gate=gate, batch_size=4, on_worker_loss="continue", **more)


@pytest.mark.parametrize("name", STRATEGIES)
def test_batch_norm_is_the_mean_of_the_workers_weighted_by_examples(name: str) -> None:
    """Of 43 examples for 4 workers in batches of 4, the last batches of an epoch have 3, 3, 3 and 2."""
    fits = Normed(examples=43)
    run = sim.run(normed(name, shards=2, steps=12), fits, schedule="random")
    state = run.shards[0]["center"]["buffers"]
    assert state["last"].keys() == set(range(workers(name)))
    total = sum(examples for examples, *_ in state["last"].values())
    mean = sum(floats * (examples / total) for examples, floats, _ in state["last"].values())
    torch.testing.assert_close(CenterBuffers.load(state).value().floats, mean)
    for rank, (_, _, counted) in state["last"].items():
        assert counted.tolist() == [len(fits.workloads[rank].taken)], "counters are no deltas"
    assert run.shards[1]["center"]["buffers"] is None
    assert run.center.numel() == sum(p.numel() for p in fits.model().parameters()), "buffers are no parameters"


@pytest.mark.parametrize("name", [name for name, cls in STRATEGIES.items() if "bsp" in cls.gates and cls.apply is Strategy.apply])
def test_unequal_shares_are_weighted_by_their_examples(name: str) -> None:
    """Of whatever averages: with 3 examples here and 1 there, the pushes count 3 to 1."""
    first = {}
    for rank, batch in ((0, 3), (1, 1)):
        fits = Fits(examples=4, dtype=torch.float64)
        alone = sim.run(pair(name, steps=1), _only(fits, rank, batch), events=2)
        first[rank] = alone.center
    fits = Fits(examples=4, dtype=torch.float64)
    both = sim.run(pair(name, steps=1), _shares(fits, {0: 3, 1: 1}), events=2)
    torch.testing.assert_close(both.center, (3 * first[0] + first[1]) / 4, rtol=0, atol=1e-12)


def pair(name: str, **more: Any) -> JobSpec:
    return job({**small(STRATEGIES[name]), "lr": 0.02}, workers=2, gate="bsp", batch_size=4, **more)


class _Share:
    """A problem whose gradients stand for `examples` examples, from rank `of`'s data."""

    def __init__(self, inner: Any, examples: int) -> None:
        self._inner, self._examples = inner, examples

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def gradient(self, position: int) -> Gradient:
        return self._inner.gradient(position)._replace(examples=self._examples)

    def differentiate(self, position: int) -> tuple[float, int]:
        return self._inner.differentiate(position)[0], self._examples


def _shares(fits: Fits, examples: dict[int, int]) -> Any:
    return lambda spec, rank: _Share(fits(spec, rank), examples[rank])


def _only(fits: Fits, of: int, examples: int) -> Any:
    """All workers have the data of rank `of`."""
    return lambda spec, rank: _Share(fits(spec, of), examples)


OPTIONS: list[dict[str, Any]] = [
    {"schedule": {"name": "cosine", "over": 900, "warmup": 100}, "evaluate": {"average": "uniform"}, "optimizer": {"name": "adam"}},
    {"schedule": {"name": "step", "every": 200}, "evaluate": {"average": 0.1}, "optimizer": {"name": "sgd", "momentum": 0.9}},
    {"roles": {"server": {"optimizer": {"name": "sgd", "lr": 0.7, "momentum": 0.9, "nesterov": True}}}},
    {"roles": {"server": {"optimizer": {"name": "adam", "lr": 0.01}}}, "optimizer": {"name": "adamw"}},
    {"strategy": {"inner": "average"}, "optimizer": {"name": "adam"}},
]


def with_options(name: str, options: dict[str, Any]) -> JobSpec | None:
    """None: the strategy refuses them."""
    strategy = {**small(STRATEGIES[name]), "lr": 0.02, **options.get("strategy", {})}
    roles = {**options.get("roles", {}), "worker": {"count": workers(name)}}
    more = {key: value for key, value in options.items() if key not in ("strategy", "roles")}
    try:
        return job(strategy, roles=roles, batch_size=4, on_worker_loss="continue", **more)
    except ValidationError:
        return None


CHOSEN = [
    pytest.param(name, with_options(name, options), id=f"{name}-{number}", marks=pytest.mark.long if (at + number) % 2 else ())
    for at, name in enumerate(STRATEGIES)
    for number, options in enumerate(OPTIONS)
    if with_options(name, options)
]
"""Each strategy with every other set of options, and each set with every other strategy; the rest is left to `make test-long`."""


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "chosen"), CHOSEN)
def test_resumes_bit_for_bit_with_every_option_and_batch_norm(name: str, chosen: JobSpec) -> None:
    speeds = [1, 1, 2, 0.5][: workers(name)]
    whole = sim.run(chosen, Normed(examples=43), events=60, schedule="random", speeds=speeds, checkpoints={23})
    rest = sim.run(chosen, Normed(examples=43), events=60, schedule="random", speeds=speeds, resume=whole.checkpoints[23])
    assert difference(numbers(whole.shards), numbers(rest.shards)) is None
    assert rest.losses[0]
    assert all(whole.losses[rank][-len(losses) :] == losses for rank, losses in rest.losses.items() if losses)


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "chosen"), CHOSEN)
def test_any_number_of_shards_has_the_same_bits_with_every_option(name: str, chosen: JobSpec) -> None:
    runs = []
    for count in (1, 3):
        roles = chosen.roles.model_copy(update={"server": chosen.roles.server.model_copy(update={"count": count})})
        spread = chosen.model_copy(update={"roles": roles})
        runs.append(sim.run(spread, Normed(examples=43), events=30, schedule="random"))
    assert torch.equal(runs[0].center, runs[1].center)
    assert runs[0].decisions == runs[1].decisions


def test_a_rule_that_answers_pushes_cannot_have_the_center_with_them() -> None:
    with pytest.raises(TypeError, match="set pulls_every_round = False"):

        class Both(Strategy, frozen=True):
            responds: ClassVar[bool] = True
