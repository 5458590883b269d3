"""A model moves into its vector with the same bits and without a second copy, and leaves alone what others use, too."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.dlpack import from_dlpack

from gradstream.model import moving
from gradstream.model.flat_model import FlatModel

CPU = torch.device("cpu")
LONG = 3 * moving.PART // 4 + 5
"""Elements of a parameter that moves in several parts, the last of which is no whole page."""


class Conv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU())
        self.body(torch.rand(2, 3, 8, 8))  # moves the running statistics
        self.scale = nn.Parameter(torch.full((4000,), 0.5))  # stands before the layers in the vector


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 64)
        self.head = nn.Linear(64, 50, bias=False)
        self.head.weight = self.embedding.weight


class Twice(nn.Module):
    """Draws a second weight in place of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))
        self.weight = nn.Parameter(torch.rand(64, 64))
        self.bias = nn.Parameter(torch.randn(64))
        nn.init.orthogonal_(self.weight)


def frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    return model.requires_grad_(False).append(nn.Linear(64, 8))


def late() -> nn.Module:
    """Its values were drawn through a tensor that the parameter was made of, and one parameter is a view of another's values."""
    drawn = torch.empty(64, 64)
    model = nn.ParameterDict({"weight": nn.Parameter(drawn)})
    nn.init.normal_(drawn)
    model["rows"] = nn.Parameter(model["weight"].data[8:16])
    return model


def mixed() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 64).bfloat16(), nn.LayerNorm(64), nn.Linear(64, 64).double())


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)),
    "cnn": Conv,
    "tied": Tied,
    "twice": Twice,
    "frozen": frozen,
    "transformer": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2),
    "lstm": lambda: nn.LSTM(64, 32, num_layers=2, bidirectional=True),
    "parametrized": lambda: weight_norm(nn.Linear(64, 64)),
    "channels last": lambda: nn.Conv2d(16, 16, 3).to(memory_format=torch.channels_last),  # type: ignore[call-overload]
    "late": late,
    "mixed": mixed,
    "long": lambda: nn.ParameterList([torch.randn(LONG), torch.randn(3)]),
    "double": lambda: nn.Linear(300, 300).double(),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_moved_model_has_the_bits_of_a_plain_one(kind: str) -> None:
    plain, moved = (_built(kind) for _ in range(2))
    flat = FlatModel(moved, CPU)
    expected = plain.state_dict()
    assert list(flat.tensors()) == list(expected)
    for name, tensor in flat.tensors().items():
        assert tensor.dtype == expected[name].dtype
        assert torch.equal(tensor, expected[name]), name
    trained = [p.detach().reshape(-1).to(flat.theta.dtype) for p in plain.parameters() if p.requires_grad]
    assert torch.equal(flat.theta, torch.cat(trained))


def _built(kind: str) -> nn.Module:
    torch.manual_seed(7)
    return MODELS[kind]()


def _second_parameter(p: nn.Parameter) -> Any:
    return nn.Parameter(p.detach())


OTHERS: dict[str, Callable[[nn.Parameter], Any]] = {
    "a tensor": lambda p: p.data,
    "a slice": lambda p: p.data[100:],
    "a second parameter": _second_parameter,
    "an array": lambda p: p.detach().numpy(),
    "a storage": lambda p: p.untyped_storage(),
    "a capsule": lambda p: p.detach().__dlpack__(),
    "a lazy copy": lambda p: torch.ops.aten._lazy_clone(p.detach()),
    "a module's state": lambda p: nn.ParameterList([p]).state_dict(),
}


def test_a_parameter_is_the_sole_user_of_its_memory() -> None:
    p = nn.Parameter(torch.ones(LONG))
    assert moving.is_sole_user(p.detach())
    assert moving.is_sole_user(nn.Linear(3, 3).weight.detach())
    assert moving.is_sole_user(copy.deepcopy(nn.Linear(3, 3)).weight.detach())


@pytest.mark.parametrize("kind", OTHERS)
def test_what_others_use_keeps_its_values(kind: str) -> None:
    model = nn.ParameterList([torch.arange(100_000.0)])
    other = OTHERS[kind](model[0])
    theta = FlatModel(model, CPU).theta
    assert torch.equal(theta, torch.arange(100_000.0))
    kept = _values(other)
    assert torch.equal(kept, torch.arange(100_000.0)[-kept.numel() :])


def _values(other: Any) -> Tensor:
    match other:
        case Tensor():
            return other.detach()
        case numpy.ndarray():
            return torch.from_numpy(other)
        case torch.UntypedStorage():
            return torch.empty(0).set_(other)
        case dict():
            return next(iter(other.values()))  # type: ignore[no-any-return]
        case _:
            return from_dlpack(other)


def test_memory_of_numpy_and_of_bytes_keeps_its_values() -> None:
    array, data = numpy.ones(100_000, "f"), bytearray(torch.ones(100_000).numpy().tobytes())
    model = nn.ParameterList([torch.from_numpy(array), torch.frombuffer(data, dtype=torch.float32)])
    FlatModel(model, CPU)
    assert array.all()
    assert torch.frombuffer(data, dtype=torch.float32).all()


def test_neighbours_in_one_storage_keep_their_values() -> None:
    """A parameter may be a part of a tensor; pages that it shares with others do not go."""
    whole = torch.arange(100_000.0)
    rest, model = whole[50_001:], nn.ParameterList([whole[100:50_001]])
    del whole
    assert torch.equal(FlatModel(model, CPU).theta, torch.arange(100.0, 50_001.0))
    assert torch.equal(rest, torch.arange(50_001.0, 100_000.0))


def test_a_model_that_is_built_once_may_be_flattened_twice() -> None:
    model = nn.Sequential(nn.Linear(100, 100), nn.Linear(100, 100))
    expected = copy.deepcopy(model).state_dict()
    for _ in range(2):
        flat = FlatModel(model, CPU)
        assert all(torch.equal(tensor, expected[name]) for name, tensor in flat.tensors().items())


def test_without_the_counts_of_torch_parameters_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_use_count", None)
    model = nn.ParameterList([torch.arange(100_000.0)])
    assert not moving.is_sole_user(model[0].detach())
    assert torch.equal(FlatModel(model, CPU).theta, torch.arange(100_000.0))


SHAPES = {
    "many small layers": "nn.Sequential(*(nn.Linear(512, 512) for _ in range(100)))",  # 1 MB each
    "layers": "nn.Sequential(*(nn.Linear(1600, 1600) for _ in range(10)))",  # 10 MB each
    "one wide table": "nn.Sequential(nn.Embedding(250_000, 100), nn.Linear(100, 10))",
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("shape", "of_a_job"), [*((shape, True) for shape in SHAPES), ("layers", False)])
def test_a_model_of_100_mb_needs_its_memory_once(shape: str, of_a_job: bool) -> None:
    """The peak, measured by the kernel, and what stays. It was twice the model for each of these shapes."""
    code = f"""
import re, torch
from pathlib import Path
from torch import nn
from gradstream.model.flat_model import FlatModel
from gradstream.process.begin import _keep_freed_memory
def status(key):
    return 1024 * int(re.search(key + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
torch.set_num_threads(1)
if {of_a_job}:
    _keep_freed_memory()
before = status("VmRSS")
flat = FlatModel({SHAPES[shape]}, torch.device("cpu"))
print((status("VmHWM") - before) / flat.theta.nbytes, (status("VmRSS") - before) / flat.theta.nbytes)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    peak, stays = map(float, done.stdout.split())
    assert 0.95 < peak < 1.35, "the model, a part of 16 MB, and pages that hold the ends of parameters"
    assert 0.95 < stays < 1.2
