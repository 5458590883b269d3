"""User code of tests in float16: a line whose loss has a factor, so that the first loss scale overflows and has to settle."""

from __future__ import annotations

import torch
from steady import Steady
from torch import nn


class Steep(Steady):
    factor: float = 200.0

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        return self.factor * super().loss(model, batch)
