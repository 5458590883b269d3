"""A model of any kind as one vector: it trains as plain PyTorch would train it."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import sim
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.model.flat_model import DTYPES, FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.training.replica import Replica
from gradstream.wire.transport.layout import DTYPES as TRAVELLING
from tests.nets import CPU, KINDS, flat, job, normed, problem


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_worker_takes_the_path_of_plain_pytorch(kind: str) -> None:
    """Bit for bit; where dtypes are mixed, of plain PyTorch with master weights."""
    spec = job(kind)
    code = UserCode(spec)
    model, batches = code.model(), Batches(code.dataset("train"), spec, 0)
    trained = [p for p in model.parameters() if p.requires_grad]
    masters = [p.detach().float().clone() for p in trained]
    for position in range(batches.total):
        model.zero_grad()
        code.loss(model, batches.fetch(position)[0]).backward()  # type: ignore[no-untyped-call]
        for p, master in zip(trained, masters, strict=True):
            if p.grad is not None:
                master.sub_(p.grad.to_dense() if p.grad.is_sparse else p.grad, alpha=0.1)
                p.data.copy_(master)
    assert torch.equal(sim.run(spec, problem).center, torch.cat([master.reshape(-1) for master in masters]))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_local_step_has_the_bits_of_a_descent_along_the_gathered_gradient(kind: str) -> None:
    """Without one, unless the parameters are of several dtypes."""
    spec = job(kind, {"name": "adag", "lr": 0.1})
    stepping, gathering = Replica(spec, problem(spec, 0)), Replica(spec, problem(spec, 0))
    cast(ModelProblem, stepping._problem)._flat.gradient.fill_(torch.nan)
    while not stepping.done:
        stepping.step()
        gathering.descend(gathering.grad())
        assert torch.equal(stepping.theta, gathering.theta)
    assert (stepping.t, stepping.samples.post()) == (gathering.t, gathering.samples.post())
    assert cast(ModelProblem, stepping._problem)._flat.gradient.isnan().all() == (kind != "mixed")


@pytest.mark.parametrize("optimizer", [{"name": "adam"}, {"name": "sgd", "momentum": 0.9}, {"name": "sgd", "clip_norm": 0.01}])
def test_a_local_step_of_another_optimizer_is_along_the_whole_gradient(optimizer: dict[str, Any]) -> None:
    spec = job("plain", {"name": "adag", "lr": 0.1}, optimizer=optimizer)
    stepping, gathering = Replica(spec, problem(spec, 0)), Replica(spec, problem(spec, 0))
    for _ in range(5):
        stepping.step()
        gathering.descend(gathering.grad())
    assert torch.equal(stepping.theta, gathering.theta)


def test_a_model_trains_in_each_mini_batch_whatever_the_loss_left_it_in() -> None:
    trained = problem(job("normed"), 0)
    trained.gradient(0)
    trained._flat.model[1].eval()  # type: ignore[operator, index]
    before = trained.buffers()
    trained.gradient(1)
    after = trained.buffers()
    assert before is not None
    assert after is not None
    assert not torch.equal(before.floats, after.floats)


def test_every_gradient_is_as_wide_as_the_center() -> None:
    for kind in KINDS:
        gradient = problem(job(kind), 0).gradient(0).g
        assert gradient.dtype == torch.float32
        assert gradient.isfinite().all()


def test_steps_that_are_too_small_for_bfloat16_add_up() -> None:
    model = flat("mixed")
    model.theta.fill_(1.0)
    for _ in range(8):
        model.theta.add_(1e-3)  # bfloat16 knows no number between 1 and 1.0078
        model.refresh()
    assert torch.equal(model.model.first.weight, torch.full((8, 5), 1.0078125, dtype=torch.bfloat16))


def test_what_has_moved_is_refreshed_from_where_it_is_now() -> None:
    model = flat("mixed")
    first, second = model.theta, torch.full_like(model.theta, 2.0)
    model.move(second)
    model.refresh()
    assert all(bool((p == 2).all()) for p in model.model.parameters())
    first.fill_(3.0)
    model.move(first)
    model.refresh()
    assert all(bool((p == 3).all()) for p in model.model.parameters())


def test_one_dtype_needs_no_copy() -> None:
    model = flat("normed")
    model.theta.fill_(2.0)
    assert all(bool((p == 2).all()) for p in model.model.parameters())
    assert flat("mixed").theta.dtype == torch.float32
    assert FlatModel(normed().bfloat16(), CPU).theta.dtype == torch.bfloat16
    assert FlatModel(nn.Sequential(nn.Linear(2, 2).half(), nn.Linear(2, 2).bfloat16()), CPU).theta.dtype == torch.float32


def test_dtypes_that_cannot_be_a_center_are_refused() -> None:
    assert set(DTYPES) == set(TRAVELLING.values())
    waves = nn.ParameterDict({"w": torch.ones(3, dtype=torch.complex64)})
    with pytest.raises(InvalidWorkload, match=r"parameter w is torch.complex64.*view_as_real"):
        FlatModel(waves, CPU)
    with pytest.raises(InvalidWorkload, match="no trainable parameter"):
        FlatModel(nn.ReLU(), CPU)
    with pytest.raises(InvalidWorkload, match="no trainable parameter"):
        FlatModel(nn.ParameterDict({"none": torch.zeros(0, 3)}), CPU)
    with pytest.raises(InvalidWorkload, match=r"parameter 1.weight has no shape yet; call the model once with a batch"):
        FlatModel(nn.Sequential(nn.Linear(2, 2), nn.LazyLinear(3)), CPU)
    waves["w"].requires_grad = False
    waves["v"] = nn.Parameter(torch.ones(2))
    assert FlatModel(waves, CPU).theta.numel() == 2


def test_a_loss_without_a_gradient_is_refused_with_what_may_be_the_reason() -> None:
    spec = job("plain")
    trained = problem(spec, 0)
    for p in trained._flat.model.parameters():
        p.requires_grad = False
    with pytest.raises(UserError, match=r"backward of loss\(\)") as raised:
        trained.gradient(0)
    assert "depends on no trained parameter" in str(raised.value.__cause__)


# ---- torch.compile ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["compiled", "within"])
def test_a_compiled_model_is_stored_under_its_plain_names(kind: str) -> None:
    keys = set(flat("normed" if kind == "compiled" else "plain").tensors())
    assert any("_orig_mod" in key for key in flat(kind).model.state_dict())
    assert set(flat(kind).tensors()) == keys
    ensemble = FlatModel(UserCode(job(kind, members=2)).model(), CPU)
    assert set(ensemble.tensors()) == {f"members.{member}.{key}" for key in keys for member in (0, 1)}


def test_a_compiled_model_sees_the_vector_that_it_has_moved_to() -> None:
    compiled, plain, x = flat("compiled"), flat("normed"), torch.randn(4, 5)
    vectors = [compiled.theta, torch.randn_like(compiled.theta), torch.randn_like(compiled.theta)]
    for theta in [*vectors, *vectors]:
        compiled.move(theta)
        plain.theta.copy_(theta)
        assert torch.equal(compiled.model(x), plain.model(x))
        for model in (compiled, plain):
            model.model(x).square().sum().backward()
        assert torch.equal(compiled.gather_gradient(), plain.gather_gradient())


# ---- scores and buffers -----------------------------------------------------------------------------------------------------


def test_centers_are_scored_with_the_weights_that_they_have(tmp_path: Path) -> None:
    workloads = Workloads(job("mixed"), tmp_path)

    class Seen:
        def __init__(self, center: Tensor) -> None:
            self._center = center

        def center(self) -> Tensor:
            return self._center

        def buffers(self) -> None:
            return None

    theta = flat("mixed").theta
    workloads.evaluate(Seen(theta + 1))
    at_zero = workloads.evaluate(Seen(torch.zeros_like(theta)))
    assert at_zero["loss"] == pytest.approx(torch.tensor(3.0).log().item(), rel=1e-5), "three classes, all alike"


class Kept(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("phase", torch.tensor([1 + 2j]))
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("cache", torch.zeros(3), persistent=False)


def test_a_buffer_is_the_one_that_the_module_has_now() -> None:
    module, other = Kept(), FlatModel(Kept(), CPU)
    model = FlatModel(module, CPU)
    module.mean = module.mean + module.w  # a new tensor, with a history
    module.cache = torch.zeros(99)
    buffers = model.buffers()
    assert buffers is not None
    assert buffers.floats.tolist() == [1, 1, 1, 2], "a complex value is two; what is not in the state_dict stays"
    assert buffers.ints.tolist() == [7]
    other.load_buffers(buffers._replace(floats=buffers.floats + 1))
    assert torch.equal(other.model.mean, torch.tensor([2.0, 2.0]))
    assert torch.equal(other.model.phase, torch.tensor([2 + 3j]))
    module.mean = torch.zeros(3)
    with pytest.raises(InvalidWorkload, match=r"buffer mean of shape \(2,\) became \(3,\).*persistent=False"):
        model.buffers()


# ---- memory -----------------------------------------------------------------------------------------------------------------

LAYERS, LAYER = 10, 10_000_000


class Large:
    """The part of a `UserCode` that a problem calls."""

    def has_hook(self, hook: str) -> bool:
        return False

    def loss(self, model: nn.ParameterList, batch: list[Tensor]) -> Tensor:
        return batch[0].mean() * sum(p.mean() for p in model)


def large() -> ModelProblem:
    model = nn.ParameterList(torch.ones(LAYER) for _ in range(LAYERS))
    return ModelProblem(cast(Any, Large()), FlatModel(model, CPU), Batches(TensorDataset(torch.ones(64, 1)), job("one"), 0))


@pytest.mark.more
def test_training_100_million_parameters_keeps_three_vectors() -> None:
    """Two that centers come into, one to send from. The ones that the model began with are gone, and so are gradients."""
    w = Replica(job("one"), large())
    centers = [torch.empty(LAYERS * LAYER) for _ in range(2)]
    w.model.train_in(centers)
    w.model.gather_into(torch.empty(LAYERS * LAYER), lambda: None, None)
    for center in (centers[1], centers[0]):
        center.fill_(0.5)
        w.model.set_theta(center)
        assert w.grad()[-1] == pytest.approx(1 / LAYER)
    assert _bytes_of_vectors() == 3 * 4 * LAYERS * LAYER


def _bytes_of_vectors() -> int:
    gc.collect()
    storages = [t.untyped_storage() for t in gc.get_objects() if type(t) in (Tensor, nn.Parameter)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages if storage.nbytes() >= 4 * LAYER}.values())


@pytest.mark.more
def test_a_large_model_is_never_in_memory_twice() -> None:
    """Its layers become views of the vector one by one."""
    code = f"""
import resource, torch
from torch import nn
from gradstream.model.flat_model import FlatModel
model = nn.ParameterList(torch.ones({LAYER}) for _ in range({LAYERS}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
FlatModel(model, torch.device("cpu"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert int(done.stdout) * 1024 < 3 * 4 * LAYER
