"""User code that changes parameters by itself is refused wherever it runs; what PyTorch itself does to a model is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.utils.data import TensorDataset

from gradstream import Workload, local_run, sim
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.guard import ParameterGuard
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.nets import CPU


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.out, self.frozen = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 6)
        self.frozen.requires_grad_(False)
        self.act = nn.Tanh()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.frozen(self.act(self.fc(x))))  # type: ignore[no-any-return]


@torch.no_grad()
def clip_in_place(net: Net) -> None:
    for p in net.parameters():
        p.clamp_(-0.01, 0.01)


def clip_data(net: Net) -> None:
    for p in net.parameters():
        p.data.clamp_(-0.01, 0.01)


def write_through_numpy(net: Net) -> None:
    net.fc.weight.detach().numpy()[0, 0] += 1


def assign_data(net: Net) -> None:
    net.fc.weight.data = net.fc.weight.data / net.fc.weight.data.norm()


@torch.no_grad()
def set_storage(net: Net) -> None:
    net.fc.weight.set_(net.fc.weight.clone())


@torch.inference_mode()
def in_inference_mode(net: Net) -> None:
    net.fc.weight.mul_(0.5)


def step_an_optimizer(net: Net) -> None:
    optimizer = torch.optim.Adam([net.fc.weight])
    net.fc(torch.ones(2, 4)).sum().backward()
    optimizer.step()


def replace_a_parameter(net: Net) -> None:
    net.fc.weight = nn.Parameter(net.fc.weight.detach() * 2)


def replace_a_module(net: Net) -> None:
    net.fc = nn.Linear(4, 6)


def write_one_value(net: Net) -> None:
    net.fc.weight.data.view(-1)[3:4].fill_(9.0)


TRICKS: dict[str, tuple[Callable[[Net], Any], str]] = {
    "clip": (clip_in_place, "fc.weight"),
    "clip .data": (clip_data, "fc.weight"),
    "numpy": (write_through_numpy, "fc.weight"),
    "assign .data": (assign_data, "fc.weight"),
    "set_": (set_storage, "fc.weight"),
    "inference mode": (in_inference_mode, "fc.weight"),
    "init": (lambda net: nn.init.xavier_uniform_(net.fc.weight), "fc.weight"),
    "one value": (write_one_value, "fc.weight"),
    "rows change places": (lambda net: net.fc.weight.data.copy_(net.fc.weight.data.flip(0)), "fc.weight"),
    "load_state_dict": (lambda net: net.load_state_dict(Net().state_dict()), "fc.weight"),
    "an optimizer of its own": (step_an_optimizer, "fc.weight"),
    "another dtype": (lambda net: net.double().float(), "fc.weight"),
    "another parameter": (replace_a_parameter, "fc.weight"),
    "another module": (replace_a_module, "fc.weight"),
    "a teacher's average": (lambda net: net.frozen.weight.data.lerp_(torch.ones(6, 6), 0.01), "frozen parameter frozen.weight"),
    "prune": (lambda net: prune.l1_unstructured(net.fc, "weight", 0.5), "fc.weight"),
    "spectral norm": (lambda net: nn.utils.parametrizations.spectral_norm(net.fc), "fc.parametrizations"),
    "another activation": (lambda net: setattr(net, "act", nn.ReLU()), "module act"),
    "one module more": (lambda net: net.add_module("drop", nn.Dropout()), "module drop"),
    "unfreezing": (lambda net: net.frozen.requires_grad_(True), "frozen.weight"),
}


def put_back(net: Net) -> None:
    """As sharpness-aware and zeroth-order methods do."""
    saved = copy.deepcopy(net.state_dict())
    clip_in_place(net)
    net.load_state_dict(saved)


@torch.no_grad()
def count_in_a_buffer(net: Net) -> None:
    net.seen += 1  # type: ignore[operator]


LEGAL: dict[str, Callable[[Net], Any]] = {
    "nothing": lambda net: None,
    "puts back": put_back,
    "buffers": count_in_a_buffer,
    "freezing for a while": lambda net: net.out.requires_grad_(not net.out.weight.requires_grad),
    "a copy": lambda net: clip_in_place(copy.deepcopy(net)),
    "functional": lambda net: torch.func.functional_call(net, {"fc.weight": torch.zeros(6, 4)}, torch.ones(1, 4)),
    "a hook on gradients": lambda net: net.fc.weight.register_hook(lambda g: g.clamp(-1, 1)),
}


class Tricky(Workload):
    trick: str
    after: int = 0
    """Mini-batches before it."""
    where: str = "loss"

    def model(self) -> nn.Module:
        net = Net()
        if self.where == "on_epoch":
            self.net = net
        if self.where == "backward":
            net.out.weight.register_hook(lambda g: self._do(net))
        if self.where == "forward":
            net.register_forward_hook(lambda net, given, result: self._do(net))  # type: ignore[arg-type]
        return net

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(32, 4, generator=torch.Generator().manual_seed(3))
        return TensorDataset(x, x[:, :3].argmax(1))

    def loss(self, model: nn.Module, batch: list[Tensor]) -> Tensor:
        if self.where == "before":
            self._do(model)
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        if self.where == "loss" and model.training:
            self._do(model)
        return loss

    def evaluate(self, model: nn.Module, batch: list[Tensor]) -> dict[str, float]:
        if self.where == "evaluate":
            self._do(model)
        return super().evaluate(model, batch)

    def on_epoch(self, epoch: int) -> None:
        if self.where == "on_epoch":
            self._do(self.net)

    def _do(self, net: Any) -> None:
        self.after -= 1
        if self.after < 0:
            trick = TRICKS[self.trick][0] if self.trick in TRICKS else LEGAL[self.trick]
            trick(net)


def job(trick: str, **more: Any) -> JobSpec:
    args = {"trick": trick, **{key: more.pop(key) for key in ("after", "where") if key in more}}
    return JobSpec.model_validate(
        {
            "name": "tricky",
            "workload": {"entrypoint": "tests.unit.model.test_guard:Tricky", "args": args},
            "batch_size": 8,
            "strategy": {"name": "adag", "lr": 0.1},
            "stop": {"epochs": 3},
            **more,
        }
    )


def trained(spec: JobSpec) -> ModelProblem:
    code = UserCode(spec)
    problem = ModelProblem(code, FlatModel(code.model(), CPU), Batches(code.dataset("train"), spec, 0))
    for position in range(problem.total):
        problem.gradient(position)
    return problem


def refused(spec: JobSpec) -> str:
    with pytest.raises(UserError) as raised:
        trained(spec)
    return f"{raised.value}: {raised.value.__cause__}"


@pytest.mark.parametrize("trick", TRICKS)
def test_a_loss_that_changes_parameters_is_refused_by_their_name(trick: str) -> None:
    said = refused(job(trick))
    assert said.startswith("the workload failed in loss(): it ")
    assert TRICKS[trick][1] in said
    assert "docs/guides/what-does-not-fit.md has patterns that work" in said


@pytest.mark.parametrize("trick", LEGAL)
def test_a_loss_that_leaves_parameters_as_they_were_is_not(trick: str) -> None:
    trained(job(trick, where="before"))


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("trick", ["clip", "clip .data", "assign .data"])
def test_hooks_are_watched_like_the_loss(trick: str, where: str) -> None:
    assert TRICKS[trick][1] in refused(job(trick, where=where))


@pytest.mark.parametrize("trick", ["clip", "assign .data", "unfreezing"])
def test_a_change_that_torch_counts_is_found_in_the_step_that_makes_it(trick: str) -> None:
    """Here in the tenth, when values are seldom compared."""
    spec = job(trick, after=9)
    code = UserCode(spec)
    problem = ModelProblem(code, FlatModel(code.model(), CPU), Batches(code.dataset("train"), spec, 0))
    problem._guard._spent = 1e9
    for position in range(9):
        problem.gradient(position)
    with pytest.raises(UserError):
        problem.gradient(9)


@pytest.mark.parametrize("trick", ["clip .data", "numpy", "one value", "rows change places", "an optimizer of its own"])
def test_a_sample_of_the_values_is_compared_in_each_step(trick: str) -> None:
    """In a long run, all values are compared seldom. This model is as small as the sample."""
    spec = job(trick, after=9)
    code = UserCode(spec)
    problem = ModelProblem(code, FlatModel(code.model(), CPU), Batches(code.dataset("train"), spec, 0))
    problem._guard._spent = 1e9
    for position in range(9):
        problem.gradient(position)
    with pytest.raises(UserError) as raised:
        problem.gradient(9)
    assert f"it changed the parameter {TRICKS[trick][1]} in place" in str(raised.value.__cause__)


@pytest.mark.parametrize("trick", ["clip .data", "numpy", "one value", "rows change places", "an optimizer of its own"])
def test_run_local_compares_a_sample_in_each_step_too(trick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There an optimizer changes parameters between the steps, and they lie apart."""
    monkeypatch.setattr(ParameterGuard, "_looks", lambda self: False)
    with pytest.raises(UserError) as raised:
        list(local_run.train(job(trick, after=9), Path()))
    assert f"it changed the parameter {TRICKS[trick][1]} in place" in str(raised.value.__cause__)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_change_in_a_sample_is_told_by_the_name_of_its_parameter(dtype: torch.dtype, together: bool) -> None:
    model = nn.Sequential(nn.Linear(10, 30), nn.Linear(30, 700, bias=False)).to(dtype)
    home = FlatModel(model, CPU).theta if together else None
    guard = ParameterGuard(model)
    guard._spent = 1e9
    for number, (name, p) in enumerate(model.named_parameters()):
        guard._count = 10
        guard.begin(home)
        guard.check()
        guard.begin(home)
        p.data.neg_().sub_(1)
        with pytest.raises(InvalidWorkload, match=f"parameter {name} in place"):
            guard.check()
        assert guard._sums is None, f"only the sample was compared, {number}"


@pytest.mark.parametrize("local", [True, False])
def test_on_epoch_is_watched(local: bool) -> None:
    spec = job("clip .data", where="on_epoch")
    with pytest.raises(UserError, match=r"failed in on_epoch\(\)") as raised:
        list(local_run.train(spec, Path())) if local else trained(spec)
    assert "it changed the parameter fc.weight in place" in str(raised.value.__cause__)


def test_each_member_of_an_ensemble_is_watched() -> None:
    assert "members.0.fc.weight" in refused(job("clip .data", members=2))
    assert "members.1.fc.weight" in refused(job("clip .data", members=2, after=1))


def test_the_simulator_refuses_it_too() -> None:
    with pytest.raises(UserError, match=r"loss\(\)"):
        sim.run(job("clip"), Workloads(job("clip"), Path()))


def test_values_are_compared_again_and_again_for_one_percent_of_the_time() -> None:
    now = 0.0
    model = nn.Linear(2, 2)
    guard = ParameterGuard(model, clock=lambda: now)
    looked = []
    for _ in range(2000):
        guard.begin()
        looked.append(guard._sums is not None)
        guard._spent += 0.02 * looked[-1]  # as if a look took 20 ms
        guard.check()
        now += 0.1
    assert all(looked[:3])
    assert 90 <= sum(looked) <= 110, "100 looks of 20 ms fit into 200 s"
    model.weight.data.zero_()
    guard.begin()
    now += 100
    guard.begin()
    model.weight.data.fill_(1.0)
    with pytest.raises(InvalidWorkload, match="parameter weight in place"):
        guard.check()


def test_a_workload_that_puts_back_is_looked_at_each_time() -> None:
    model = Net()
    vector = FlatModel(model, CPU).theta
    guard = ParameterGuard(model)
    guard.begin(vector)
    put_back(model)
    guard.check()
    guard._spent = 1e9
    guard.begin(vector)
    put_back(model)
    guard.check()
    guard.begin(vector)
    clip_in_place(model)
    with pytest.raises(InvalidWorkload, match=r"fc\.weight"):
        guard.check()
