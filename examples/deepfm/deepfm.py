"""DeepFM: weights of single ids, products of the vectors of pairs, and a network over all vectors, on a planted click log.

    logit = b + sum_f w(id_f) + sum_{f<g} v(id_f) . v(id_g) + MLP(v(id_1), ..., v(id_F))

Source: Guo et al. 2017, "DeepFM: A Factorization-Machine based Neural Network for CTR Prediction".
"""

from __future__ import annotations

import numpy as np
import torch
from clicklog import FIELDS, clicks
from torch import nn
from torch.utils.data import Dataset

from gradstream import Workload
from gradstream import nn as gnn

HELD_OUT = 20_000


class DeepFm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weights = gnn.EmbeddingBag("weights", 1, mode="sum")
        self.vectors = gnn.Embedding("vectors", dim)
        self.deep = nn.Sequential(nn.Linear(FIELDS * dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """`ids`: one of each field, (examples, fields)."""
        v = self.vectors(ids)
        pairs = (v.sum(1).square() - v.square().sum(1)).sum(1) / 2
        return self.weights(ids).squeeze(1) + pairs + self.deep(v.flatten(1)).squeeze(1)


class ClickLog(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Examples `first` to `first + count` of the log; none is stored."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, numbers: list[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        ids, clicked = clicks(np.array(numbers) + self.first)
        return list(zip(torch.from_numpy(ids), torch.from_numpy(clicked), strict=True))

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.__getitems__([number])[0]


class Clicks(Workload):
    classifies = False
    examples: int = 500_000
    dim: int = 8

    def model(self) -> nn.Module:
        return DeepFm(self.dim)

    def dataset(self, split: str) -> ClickLog:
        return ClickLog(0, self.examples) if split == "train" else ClickLog(self.examples, HELD_OUT)

    def ids(self, batch: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        """One request brings the rows of both tables."""
        return {"weights": batch[0], "vectors": batch[0]}

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        ids, clicked = batch
        logits = model(ids)
        self.observe(logits, clicked)  # AUC, log loss and calibration
        return nn.functional.binary_cross_entropy_with_logits(logits, clicked)
