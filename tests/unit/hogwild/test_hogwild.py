"""Threads of one worker on one theta: each mini-batch is trained once and counted once, whatever the threads do meanwhile."""

from __future__ import annotations

import sys
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream import jobfile, sim
from gradstream.errors import InvalidWorkload
from gradstream.hogwild.problem import HogwildProblem
from gradstream.hogwild.replica import HogwildReplica
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.result import Result
from gradstream.sim.running import Diverged
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from gradstream.training.replica import Replica
from tests import nets
from tests.nets import CPU

ADAG: dict[str, Any] = {"name": "adag", "lr": 0.1, "window": 6}
ASYNC: dict[str, Any] = {"name": "async", "lr": 0.1}
SHARING: list[tuple[dict[str, Any], str | None]] = [
    (ADAG, None),
    ({"name": "geo", "window": 6, "delay": 2}, None),
    (ASYNC, "asp"),
    (ASYNC, "ssp"),
]


def job(threads: int, strategy: dict[str, Any] = ADAG, kind: str = "plain", workers: int = 2, **more: Any) -> JobSpec:
    roles = {"worker": {"count": workers, "hogwild": threads, "device": "cpu"}}
    return nets.job(kind, strategy, roles=roles, **more)


def threaded(spec: JobSpec, rank: int, kind: type[HogwildProblem] = HogwildProblem) -> HogwildProblem:
    """A worker's problem, also for one thread."""
    code = UserCode(spec)
    first = FlatModel(code.model(), CPU)
    flats = [first, *(FlatModel(code.model(), CPU, first) for _ in range(1, spec.roles.worker.hogwild))]
    return kind(code, flats, Batches(code.dataset("train"), spec, rank), spec)


class Noting(HogwildProblem):
    """Notes the positions that were taken."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.taken: list[int] = []

    def take(self, position: int) -> Any:
        self.taken.append(position)
        return super().take(position)


@pytest.mark.parametrize(("strategy", "gate"), SHARING, ids=lambda given: str(given))
def test_one_thread_has_the_bits_of_a_plain_worker(strategy: dict[str, Any], gate: str | None) -> None:
    optimizer = {"name": "adam" if strategy is ADAG else "sgd"}
    spec = job(1, strategy, "normed", gate={"ssp": 2} if gate == "ssp" else gate, optimizer=optimizer)
    one, plain = sim.run(spec, threaded), sim.run(spec, nets.problem)
    assert torch.equal(one.center, plain.center)
    assert one.losses == plain.losses


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(("strategy", "gate"), SHARING, ids=lambda given: str(given))
def test_every_mini_batch_is_trained_and_counted_once(strategy: dict[str, Any], gate: str | None, threads: int) -> None:
    spec = job(threads, strategy, gate={"ssp": 2} if gate == "ssp" else gate)
    problems: list[Noting] = []

    def noting(spec: JobSpec, rank: int) -> HogwildProblem:
        made = threaded(spec, rank, Noting)
        assert isinstance(made, Noting)
        problems.append(made)
        return made

    result = sim.run(spec, noting)
    assert result.samples == problems[0].total_samples == 2 * nets.EXAMPLES
    assert [sorted(made.taken) for made in problems] == [list(range(made.total)) for made in problems]
    assert {rank: len(losses) for rank, losses in result.losses.items()} == {0: problems[0].total, 1: problems[1].total}
    pushed = Counter(decision.rank for decision in result.decisions)
    if strategy["name"] == "async":
        assert pushed == {0: problems[0].total, 1: problems[1].total}, "each thread's gradient is pushed by itself"


@pytest.mark.few(2)
@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
@pytest.mark.parametrize("kind", ["normed", "tied", "mixed"])
def test_models_of_many_kinds_learn_as_with_one_thread(strategy: dict[str, Any], kind: str) -> None:
    runs = [sim.run(job(threads, strategy, kind, stop={"epochs": 16}), threaded) for threads in (1, 2)]
    first, (alone, shared) = _mean(runs[0], 0, 10), (_mean(run, -20, None) for run in runs)
    assert alone < 0.9 * first
    assert shared == pytest.approx(alone, abs=0.1 * first)


def test_digits_are_learned_as_with_one_thread() -> None:
    folder = Path("examples/digits")
    changes = (
        "gate=",
        "roles.worker={count: 1, device: cpu, hogwild: 3}",
        "strategy={name: local_sgd, lr: 0.1, window: 12}",
        "stop={epochs: 3}",
    )
    sys.path.insert(0, str(folder.resolve()))
    spec = jobfile.load(folder / "job.yaml", changes)
    plain = spec.model_copy(update={"roles": job(1, workers=1).roles})
    shared, alone = (_mean(sim.run(each, threaded), -50, None) for each in (spec, plain))
    assert alone < 1
    assert shared == pytest.approx(alone, rel=0.2)


def _mean(result: Result, start: int, end: int | None) -> float:
    losses = result.losses[0][start:end]
    return sum(losses) / len(losses)


@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
def test_a_job_resumes_with_the_state_of_all_threads(strategy: dict[str, Any]) -> None:
    spec = job(2, strategy, "normed", stop={"epochs": 6}, optimizer={"name": "adam"} if strategy is ADAG else {"name": "sgd"})
    whole = sim.run(spec, threaded, checkpoints={3})
    checkpoint = whole.checkpoints[3]
    for state in checkpoint.workers.values():
        buffers, optimizers = state["replica"]["problem"]["threads"], state["replica"]["thread_optimizers"]
        assert len(buffers) == 2
        assert not torch.equal(buffers[0][0], buffers[1][0]), "each thread has the statistics of its own mini-batches"
        assert len(optimizers) == 1
        assert bool(optimizers[0]) == (strategy is ADAG)
    resumed = sim.run(spec, threaded, resume=checkpoint)
    assert resumed.samples == whole.samples
    assert resumed.version == whole.version


def test_a_push_carries_the_mean_of_the_threads_statistics() -> None:
    spec = job(2, kind="normed", workers=1)
    problem = threaded(spec, 0)
    HogwildReplica(spec, problem, lambda t, loss: None).local(4)
    found, each = problem.buffers(), [thread.buffers() for thread in problem.threads]
    assert found is not None
    assert each[0] is not None
    assert each[1] is not None
    assert torch.equal(found.floats, (each[0].floats + each[1].floats) / 2)
    assert int(each[0].ints + each[1].ints) == 4, "mini-batches that each thread has seen"


def test_frozen_parameters_are_there_once() -> None:
    problem = threaded(job(3, kind="tied"), 0)
    frozen = {thread._flat.model.last.weight.data_ptr() for thread in problem.threads}  # type: ignore[union-attr]
    assert len(frozen) == 1


class Failing(nets.Net):
    """Its loss fails in a thread that is not the worker's first, as soon as there is one."""

    def loss(self, model: torch.nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        if threading.current_thread().name.startswith("hogwild"):
            raise ValueError("no loss in this thread")
        return super().loss(model, batch)


class Writing(nets.Net):
    @torch.no_grad()
    def loss(self, model: torch.nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        next(model.parameters()).mul_(0.5)
        with torch.enable_grad():
            return super().loss(model, batch)


class Bad(nets.Net):
    def loss(self, model: torch.nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return super().loss(model, batch) * float("nan")


def of_class(name: str, strategy: dict[str, Any], **more: Any) -> JobSpec:
    spec = job(2, strategy, stop={"epochs": 50}, **more)
    return spec.model_copy(update={"workload": spec.workload.model_copy(update={"entrypoint": f"{__name__}:{name}"})})


@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
def test_an_error_in_a_thread_is_that_of_the_worker(strategy: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"loss\(\)") as caught:
        sim.run(of_class("Failing", strategy), threaded)
    told = "".join(traceback.format_exception(caught.value))
    assert "no loss in this thread" in told
    assert "in _step_in_thread" in told or "in compute" in told


@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
def test_a_loss_that_changes_parameters_is_refused(strategy: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        sim.run(of_class("Writing", strategy), threaded)
    assert "only the job's optimizer may" in str(caught.value.__cause__)


@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
def test_a_loss_that_is_not_finite_ends_the_job_or_is_dropped(strategy: dict[str, Any]) -> None:
    with pytest.raises(Diverged):
        sim.run(of_class("Bad", strategy), threaded)
    result = sim.run(of_class("Bad", strategy, on_nan="drop"), threaded, events=6)
    assert result.version == 0
    assert {decision.outcome for decision in result.decisions} == {"dropped"}


class OnlyLocal(Replica):
    """Refuses mini-batches that a round takes by itself."""

    _inside = False

    def local(self, k: int | None) -> int:
        self._inside = True
        try:
            return super().local(k)
        finally:
            self._inside = False

    def grad(self, at: Tensor | None = None) -> Tensor:
        assert self._inside, "this round takes a gradient by itself"
        return super().grad(at)


@pytest.mark.parametrize("name", [name for name, strategy in STRATEGIES.items() if strategy.hogwild == "steps"])
def test_a_strategy_that_shares_steps_takes_mini_batches_by_local_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradstream.sim.cluster.make_replica", OnlyLocal)
    spec = nets.job("plain", {"name": name}, optimizer={"name": "sgd", "momentum": 0.5})
    assert sim.run(spec, nets.problem).samples > 0


def test_data_that_is_counted_as_it_is_taken_is_refused_with_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = job(2, ASYNC)
    code = UserCode(spec)
    batches = Batches(code.dataset("train"), spec, 0)
    monkeypatch.setattr(batches, "followed", object())
    with pytest.raises(InvalidWorkload, match="counted as it is taken"):
        HogwildProblem(code, [FlatModel(code.model(), CPU) for _ in range(2)], batches, spec)
