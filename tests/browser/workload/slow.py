"""A straight line, learned slowly: long enough to watch, small enough for any machine."""

import time

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Slow(Workload):
    pause: float = 0.02
    lines: int = 1
    """Lines that each mini-batch prints."""
    classifies = False

    def model(self) -> nn.Module:
        return nn.Linear(4, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(256, 4, generator=torch.Generator().manual_seed(1 if split == "train" else 2))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        time.sleep(self.pause if model.training else abs(self.pause))  # below 0: training fails, and no evaluation
        print("\n".join(["one more step"] * self.lines), flush=True)  # noqa: T201  # what a test looks for in the log
        x, y = batch
        return nn.functional.mse_loss(model(x), y)
