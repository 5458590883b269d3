"""User code of tests: the line of `steady`, fitted by a chain of layers with a BatchNorm."""

from __future__ import annotations

from steady import Steady
from torch import nn


class Deep(Steady):
    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
