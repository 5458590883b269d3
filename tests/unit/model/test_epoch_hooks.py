"""Hooks of epochs under `data.deal: demand`: a worker has no pass of its own that could end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import sim
from gradstream.errors import InvalidWorkload
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.workload import Workload

SEEN: list[int] = []


class Line(Workload):
    def model(self) -> nn.Module:
        return nn.Linear(1, 1)

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(torch.arange(24.0)[:, None])

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return model(batch[0] / 24).square().mean()

    def on_epoch(self, epoch: int) -> None:
        SEEN.append(epoch)


class Ends(Line):
    def on_epoch_end(self, model: nn.Module, epoch: int) -> None: ...


def simulate(kind: str, deal: str) -> None:
    job = {
        "name": "line",
        "workload": {"entrypoint": f"{__name__}:{kind}"},
        "strategy": {"name": "async", "lr": 0.1},
        "roles": {"worker": {"count": 2, "device": "cpu"}},
        "batch_size": 4,
        "stop": {"epochs": 2},
        "data": {"deal": deal},
    }
    spec = JobSpec.model_validate(job)
    sim.run(spec, Workloads(spec, Path(__file__).parent))


def test_the_end_of_a_pass_is_refused_and_its_beginning_is_told() -> None:
    SEEN.clear()
    simulate("Ends", "shares")
    with pytest.raises(InvalidWorkload, match=r"on_epoch_end\(\): .* write data\.deal: shares"):
        simulate("Ends", "demand")
    SEEN.clear()
    simulate("Line", "demand")
    assert sorted(SEEN) == [0, 0, 1, 1], "each worker enters each epoch"
