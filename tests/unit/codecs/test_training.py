"""Strategies over lossy codecs: the same bits on any number of shards and after a checkpoint, and the minimum in the end."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import jobfile, sim
from gradstream.center.entries import Push
from gradstream.center.parameters.center import Center
from gradstream.center.parameters.updates import PushUpdate, PushUpdates
from gradstream.codecs import CODECS
from gradstream.codecs.coding import Residual
from gradstream.errors import InvalidJob
from gradstream.sim.toys import Bowl, NoisyToy, job
from gradstream.spec import JobSpec
from gradstream.training import push_buffer
from gradstream.training.problem import Gradient

LOSSY = [name for name, cls in CODECS.items() if cls().lossy]
PUSHES: dict[str, dict[str, Any]] = {
    "async": {"lr": 0.02},
    "adag": {"lr": 0.2, "window": 3},
    "sync": {"lr": 0.1},
    "geo": {"lr": 0.05, "window": 3},
    "dc_asgd": {"lr": 0.02},
}
DENSE = [name for name, cls in CODECS.items() if cls().lossy and cls().dense]


def spec(strategy: str, codec: str, shards: int = 1, **more: Any) -> JobSpec:
    settings = PUSHES.get(strategy, {"lr": 0.05, "window": 3})
    return job({"name": strategy, **settings}, workers=3, shards=shards, codec={"name": codec}, **more)


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=20_011)


@pytest.mark.few(10)
@pytest.mark.parametrize("codec", LOSSY)
@pytest.mark.parametrize("strategy", PUSHES)
def test_any_number_of_shards_gives_the_same_bits(strategy: str, codec: str) -> None:
    one, three = (
        sim.run(spec(strategy, codec, shards, pull_codec={"name": "bf16"}), bowl, events=20, schedule="random") for shards in (1, 3)
    )
    assert torch.equal(one.center, three.center)


@pytest.mark.few(3)
@pytest.mark.parametrize("codec", LOSSY)
def test_a_run_resumed_from_a_checkpoint_equals_the_one_that_went_on(codec: str) -> None:
    made = spec("adag", codec, shards=2)
    whole = sim.run(made, NoisyToy, events=60, schedule="random", checkpoints={20})
    rest = sim.run(made, NoisyToy, events=60, schedule="random", resume=whole.checkpoints[20])
    assert torch.equal(whole.center, rest.center)
    assert whole.checkpoints[20].workers[1]["residual"].any(), "what the codec took away is part of the checkpoint"


class Told(Bowl):
    """Keeps the gradients that it gives."""

    given: dict[int, list[torch.Tensor]]

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank, size=5000)
        self._mine = self.given.setdefault(rank, [])

    def gradient(self, position: int) -> Gradient:
        found = super().gradient(position)
        self._mine.append(found.g.clone())
        return found


@pytest.mark.few(6)
@pytest.mark.parametrize("codec", LOSSY)
@pytest.mark.parametrize(
    ("strategy", "gate"), [("async", {"max_staleness": 2}), ("sync", {"mode": "bsp", "quorum": 2}), ("async", {"mode": "asp"})]
)
def test_all_of_each_push_that_counts_arrives_or_is_left_and_nothing_of_one_that_is_dropped(
    strategy: str, gate: dict[str, Any], codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Told.given, residuals = {}, list[Residual]()

    class Noted(Residual):
        def __init__(self, x: torch.Tensor, *, keeps: bool) -> None:
            super().__init__(x, keeps=keeps)
            residuals.append(self)

    monkeypatch.setattr(push_buffer, "Residual", Noted)
    made = spec(strategy, codec, shards=2, gate=gate, stop={"steps": 20})
    run = sim.run(made, Told, schedule="random")
    assert (sum(decision.outcome == "dropped" for decision in run.decisions) > 5) == (gate != {"mode": "asp"})
    arrived = torch.zeros(5000, dtype=torch.float64)
    for rank, residual in enumerate(residuals):
        outcomes = [decision.outcome for decision in run.decisions if decision.rank == rank]
        if outcomes[-1] == "dropped":  # at its end, a worker waits for no response
            residual.take_back()
        arrived += sum(x.double() for x, outcome in zip(Told.given[rank], outcomes, strict=True) if outcome == "applied")
        arrived -= residual.x.double()
    rate = made.strategy.lr / (2 if strategy == "sync" else 1)
    torch.testing.assert_close(run.center.double(), 1 - rate * arrived, rtol=0, atol=2e-5)


@pytest.mark.few(3)
@pytest.mark.parametrize("codec", LOSSY)
def test_a_push_that_is_under_way_at_a_checkpoint_and_dropped_leaves_the_same_to_the_next_incarnation(codec: str) -> None:
    made = spec("async", codec, shards=2, gate={"max_staleness": 2})
    for number in (20, 40):
        whole = sim.run(made, NoisyToy, events=60, schedule="random", checkpoints={number})
        rest = sim.run(made, NoisyToy, events=60, schedule="random", resume=whole.checkpoints[number])
        assert "dropped" in (decision.outcome for decision in rest.decisions)
        assert torch.equal(whole.center, rest.center)


@pytest.mark.few(2)
@pytest.mark.parametrize("codec", LOSSY)
def test_the_minimum_is_found(codec: str) -> None:
    """As near as with whole numbers: what a push leaves out comes later."""
    exact, coded = (
        sim.run(spec("sync", name), lambda s, r: Bowl(s, r, size=1000), events=1500, schedule="random").center
        for name in ("raw", codec)
    )
    start, least = torch.ones(1000), torch.sin(torch.arange(1000)) / torch.linspace(0.1, 2.0, 1000)
    assert float((exact - least).norm()) < 0.1 * float((start - least).norm())
    assert float((coded - least).norm()) < 1.5 * float((exact - least).norm()) + 0.02 * float((start - least).norm())


@pytest.mark.parametrize("codec", DENSE)
def test_an_exchange_moves_the_center_by_what_the_worker_hears(codec: str) -> None:
    """x_i + center is conserved: both sides apply the same elastic force, however it travelled."""
    made = job({"name": "easgd", "alpha": 0.3}, workers=2, codec={"name": codec}, pull_codec={"name": "bf16"})
    generator = torch.Generator().manual_seed(1)
    before, x = (torch.randn(5000, generator=generator) for _ in range(2))
    center = Center(made, before.clone(), None)
    update = PushUpdate(Push(0, 0, 1, base=0, steps=1, examples=1, want="response", position=1), made.codec.arrives(x), 0)
    assert center.apply_updates(PushUpdates([update]))
    assert update.response is not None
    heard = made.pull_codec.arrives(update.response)
    assert torch.equal(center.theta, before + heard)
    torch.testing.assert_close(heard, 0.3 * (x - before), rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["codec={name: topk, share: 0}"], "/codec/share"),
        (["codec={name: zip}"], "there is no codec 'zip'"),
        (["pull_codec={name: topk}"], "/pull_codec/name"),
        (["strategy={name: easgd}", "codec={name: onebit}"], "pushes parameters"),
    ],
)
def test_what_cannot_work_is_refused(overrides: list[str], said: str) -> None:
    text = "{name: a, workload: {entrypoint: 'm:W'}, strategy: {name: sync}, stop: {steps: 1}}"
    with pytest.raises(InvalidJob) as raised:
        jobfile.load(text, overrides)
    assert said in " ".join(f"{p.pointer}: {p.message}" for p in raised.value.problems)
