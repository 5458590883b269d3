"""The smallest workload: fit y = 2x + 1. Nothing in it is distributed; the job file alone makes it so."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Line(Workload):
    classifies = False

    def model(self) -> nn.Module:
        return nn.Linear(1, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.linspace(-1, 1, 1000 if split == "train" else 100).unsqueeze(1)
        return TensorDataset(x, 2 * x + 1)

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        x, y = batch
        return nn.functional.mse_loss(model(x), y)
