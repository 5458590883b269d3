"""A parameter that the loss leaves out has a gradient of zeros, in a worker and in `run --local`: the optimizer still moves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload, local_run, sim
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

STEPS = 6
FIRST = 2
"""Steps whose loss reaches `late`."""


class Late(nn.Module):
    def __init__(self, kept: bool) -> None:
        super().__init__()
        self.late, self.other = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))
        self.kept, self.steps = kept, 0

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.steps += 1
            if self.steps > FIRST:
                self.late.requires_grad_(self.kept)
        return x.mean() * (self.other + self.late if self.steps <= FIRST else self.other)


class LeavesOut(Workload):
    classifies = False
    kept: bool = True
    """False: it is frozen, too."""

    def model(self) -> nn.Module:
        return Late(self.kept)

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(torch.ones(4, 1))

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return model(batch[0])  # type: ignore[no-any-return]

    def evaluate(self, model: Any, batch: Any) -> dict[str, Any]:
        return {"late": float(model.late)}


def job(optimizer: dict[str, Any], kept: bool, steps: int = STEPS) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "late",
            "workload": {"entrypoint": f"{__name__}:LeavesOut", "args": {"kept": kept}},
            "batch_size": 4,
            "strategy": {"name": "single", "lr": 0.1, "window": 1},
            "optimizer": optimizer,
            "stop": {"steps": steps},
        }
    )


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(
    "optimizer",
    [{"name": "sgd", "momentum": 0.9}, {"name": "sgd", "weight_decay": 0.1}, {"name": "adam"}, {"name": "adamw"}],
    ids=str,
)
def test_it_moves_alike_with_and_without_the_platform(optimizer: dict[str, Any], kept: bool) -> None:
    spec = job(optimizer, kept)
    *_, last = local_run.train(spec, Path())
    *_, reached = local_run.train(job(optimizer, kept, FIRST), Path())
    center = sim.run(spec, Workloads(spec, Path())).center
    assert float(center[0]) == pytest.approx(last.evaluation["late"], abs=1e-6)
    assert last.evaluation["late"] < reached.evaluation["late"] - 1e-3, "momentum or decay went on"
