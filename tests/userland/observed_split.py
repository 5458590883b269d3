"""User code that observes a logistic regression, on a split whose size no batch divides."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


def draw(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    drawn = torch.Generator().manual_seed(5 if split == "train" else 6)
    x = torch.randn(512 if split == "train" else 1003, 6, generator=drawn)
    noise = torch.randn(len(x), generator=drawn)
    return x, (x.sum(1) + 2 * noise > 1).float()


class Observed(Workload):
    classifies = False

    def model(self) -> nn.Module:
        return nn.Linear(6, 1)

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(*draw(split))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        logits = model(batch[0]).squeeze(-1)
        self.observe(logits, batch[1])
        return nn.functional.binary_cross_entropy_with_logits(logits, batch[1])
