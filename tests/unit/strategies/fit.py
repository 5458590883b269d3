"""A workload that fits a small network, and remembers which batches every worker took."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.spec import JobSpec
from gradstream.workload import Split, Workload


def network(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).to(dtype)


class Fit(Workload):
    def __init__(self, model: nn.Module, examples: int, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self._model, self.taken = model, list[tuple[Tensor, Tensor]]()
        self._inputs = torch.randn(examples, 5, generator=generator, dtype=dtype)
        self._targets = torch.randn(examples, 2, generator=generator, dtype=dtype)

    def model(self) -> nn.Module:
        return self._model

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(self._inputs, self._targets)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        self.taken.append(batch)
        return nn.functional.mse_loss(model(batch[0]), batch[1])

    def has_hook(self, hook: str) -> bool:
        """As `UserCode` says it, in whose place it stands."""
        return False


class Fits:
    """Makes the workers' problems: the `problem` argument of a simulation."""

    def __init__(self, examples: int, dtype: torch.dtype = torch.float32) -> None:
        self._examples, self._dtype = examples, dtype
        self._seeding = threading.Lock()  # torch has one generator for all threads
        self.workloads: dict[int, Fit] = {}

    def model(self) -> nn.Module:
        return network(self._dtype)

    def __call__(self, spec: JobSpec, rank: int) -> ModelProblem:
        with self._seeding:
            workload = self.workloads[rank] = Fit(self.model(), self._examples, self._dtype)
        flat = FlatModel(workload.model(), torch.device("cpu"))
        return ModelProblem(cast(Any, workload), flat, Batches(workload.dataset("train"), spec, rank))

    def rounds(self) -> list[tuple[Tensor, Tensor]]:
        """The batches that the workers took in their first, second, ... step, joined to one each."""
        steps: dict[int, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for _, workload in sorted(self.workloads.items()):
            for step, batch in enumerate(workload.taken):
                steps[step].append(batch)
        return [(torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches])) for _, batches in sorted(steps.items())]
