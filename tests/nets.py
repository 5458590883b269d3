"""Models of many kinds for tests: a workload with an argument, and the problem of each worker."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.workload import Split

CPU = torch.device("cpu")
EXAMPLES = 60
"""By 8, the last mini-batch of an epoch is smaller, with one worker or three."""


class Tied(nn.Module):
    """Two layers with one weight, and a frozen one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
        self.second.weight = self.first.weight
        self.last.weight.requires_grad = False

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.second(self.first(x).tanh()).tanh())  # type: ignore[no-any-return]


class Words(nn.Module):
    """Gradients of its embedding are sparse."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.last = nn.Embedding(30, 6, sparse=True), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.words((3 * x + 15).long().clamp(0, 29)).mean(1))  # type: ignore[no-any-return]


class Branch(nn.Module):
    """One of its layers gets a gradient from some mini-batches only, and one never."""

    def __init__(self) -> None:
        super().__init__()
        self.always, self.sometimes, self.never = nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.always(x) + self.sometimes(x) if x[0, 0] > 0 else self.always(x)


class One(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.w * x[:, :3]


class Mixed(nn.Module):
    """Most of it in bfloat16, the norm in float32, as large models are."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(5, 8).bfloat16(), nn.LayerNorm(8), nn.Linear(8, 3).bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.norm(self.first(x.bfloat16()).float()).bfloat16()).float()  # type: ignore[no-any-return]


def normed() -> nn.Sequential:
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))


KINDS = {
    "normed": normed,
    "tied": Tied,
    "words": Words,
    "branch": Branch,
    "one": One,
    "mixed": Mixed,
    "autocast": normed,
    "plain": lambda: nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)),
    "large": lambda: nn.Sequential(nn.Linear(5, 40_000), nn.Tanh(), nn.Linear(40_000, 3)),
    "compiled_plain": lambda: torch.compile(nn.Linear(5, 3), backend="eager"),
    "compiled": lambda: torch.compile(normed(), backend="aot_eager"),
    "within": lambda: nn.Sequential(torch.compile(nn.Linear(5, 8), backend="eager"), nn.Tanh(), nn.Linear(8, 3)),
}


class Net(Workload):
    kind: str

    def model(self) -> nn.Module:
        """The same whatever other threads draw meanwhile: torch has one generator for all."""
        model: nn.Module = KINDS[self.kind]()
        generator = torch.Generator().manual_seed(7)
        for p in model.parameters():
            p.data.copy_(torch.rand(p.shape, generator=generator) - 0.5)
        return model

    def dataset(self, split: Split) -> TensorDataset:
        x = torch.randn(EXAMPLES, 5, generator=torch.Generator().manual_seed(3))
        return TensorDataset(x, x[:, :3].argmax(1))

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        with torch.autocast(batch[0].device.type, torch.bfloat16, enabled=self.kind == "autocast"):
            scores = model(batch[0])
        if self.kind == "autocast":
            assert scores.dtype == torch.bfloat16
        return nn.functional.cross_entropy(scores.float(), batch[1])


def job(kind: str, strategy: dict[str, Any] | None = None, workers: int = 1, shards: int = 1, **more: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "net",
            "workload": {"entrypoint": "tests.nets:Net", "args": {"kind": kind}},
            "seed": 5,
            "batch_size": 8,
            "strategy": strategy or {"name": "sync", "lr": 0.1},
            "stop": {"epochs": 2},
            "roles": {"worker": {"count": workers}, "server": {"count": shards}},
            **more,
        }
    )


def flat(kind: str, device: torch.device = CPU) -> FlatModel:
    return FlatModel(UserCode(job(kind)).model(), device)


def problem(spec: JobSpec, rank: int, device: torch.device = CPU) -> ModelProblem:
    code = UserCode(spec)
    return ModelProblem(code, FlatModel(code.model(), device), Batches(code.dataset("train"), spec, rank), spec.at_once)
