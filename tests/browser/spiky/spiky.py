"""A straight line whose loss is, for one step of each worker, a thousand higher than its gradient knows."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Spiky(Workload):
    classifies = False
    spike_at: int = 700

    def model(self) -> nn.Module:
        self.step = 0
        return nn.Linear(4, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(256, 4, generator=torch.Generator().manual_seed(1))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        x, y = batch
        loss = nn.functional.mse_loss(model(x), y)
        if not torch.is_grad_enabled():  # the evaluator asks too
            return loss
        self.step += 1
        return loss + 1000.0 if self.step == self.spike_at else loss
