"""The measurement of a workload whose first mini-batch takes long, as where kernels are compiled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import nn as gnn
from gradstream.advise import measure as measuring
from gradstream.sim.toys import job
from gradstream.workload import Workload


class SlowAtFirst(Workload):
    losses = 0

    def model(self) -> nn.Module:
        return nn.Sequential(gnn.Embedding("ids", 2), nn.Flatten())

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(torch.arange(60)[:, None])

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        if not self.losses:
            time.sleep(0.3)
        self.losses += 1
        return model(batch[0]).square().mean()


def test_the_bound_begins_behind_the_first_mini_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_LONGEST", 0.2)
    monkeypatch.setattr(measuring._Look, "curvature", lambda _: "not measured here")
    spec = job({"name": "async"}, workload={"entrypoint": f"{__name__}:SlowAtFirst"}, batch_size=3)
    found = measuring.measure(spec, tmp_path)
    assert found.tables["ids"].distinct >= 2 * 3, "another one was measured"


class Heads(Workload):
    """A wide layer, one of six outputs, and a norm."""

    width: int = 40

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(3, self.width), nn.Linear(self.width, 6), nn.LayerNorm(6))

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(torch.ones(60, 3))

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return model(batch[0]).square().mean()


@pytest.mark.parametrize(
    ("width", "tensor", "most", "whole"),
    [(40, 1, 16, 41 * 6 + 12), (40, 2, 16, 12), (7, 1, 4, 12), (1, 1, 4, 4 + 12)],
)
def test_a_measurement_knows_how_many_processes_could_divide_layers(
    width: int, tensor: int, most: int, whole: int, tmp_path: Path
) -> None:
    """With one process, it counts what the most would leave whole. A layer with fewer outputs stays whole."""
    roles = {"worker": {"count": 1, "group": {"tensor": tensor}}}
    spec = job({"name": "sync"}, workload={"entrypoint": f"{__name__}:Heads", "args": {"width": width}}, batch_size=30, roles=roles)
    found = measuring.measure(spec, tmp_path)
    assert (found.tensor_processes, found.whole) == (most, whole)
