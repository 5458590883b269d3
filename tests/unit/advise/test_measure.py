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
