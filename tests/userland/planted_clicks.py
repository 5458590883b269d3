"""A click model with two embedding tables, on clicks that are planted: a logit per id."""

from __future__ import annotations

import os
import time

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, TensorDataset

from gradstream import Workload
from gradstream import nn as gnn

FIELDS = 4


class ClickModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = gnn.EmbeddingBag("wide", 1, mode="sum")
        self.deep = gnn.Embedding("deep", 4)
        self.top = nn.Sequential(nn.Linear(4 * FIELDS, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, ids: Tensor) -> Tensor:
        out: Tensor = self.wide(ids) + self.top(self.deep(ids).flatten(1))
        return out.squeeze(1)


class Clicks(Workload):
    classifies = False
    examples: int = 2000
    ahead: bool = False
    """`ids` names what the model will look up."""
    alone: bool = False
    """The model has no parameters beside its table."""
    draws: bool = False
    """The model draws random numbers in each forward."""
    observes: bool = False
    """`loss` observes its predictions."""
    pause: float = 0.0
    """Seconds before each mini-batch, until there is the file `until`."""
    until: str = ""

    def model(self) -> nn.Module:
        if self.alone:
            return nn.Sequential(gnn.EmbeddingBag("wide", 1, mode="sum"), nn.Flatten(0))
        model = ClickModel()
        return nn.Sequential(model, nn.Dropout(0.1)) if self.draws else model

    def dataset(self, split: str) -> Dataset[tuple[Tensor, ...]]:
        draw = np.random.default_rng(1 if split == "train" else 2)
        ids = draw.zipf(1.2, (self.examples, FIELDS)) % 500 + np.arange(FIELDS) * 10_000
        logits = np.random.default_rng(3).normal(0, 1, FIELDS * 10_000)[ids].sum(1)
        clicks = draw.random(self.examples) < 1 / (1 + np.exp(-logits))
        return TensorDataset(torch.from_numpy(ids), torch.from_numpy(clicks.astype(np.float32)))

    def ids(self, batch: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        named = {"wide": batch[0]} if self.alone else {"wide": batch[0], "deep": batch[0]}
        return named if self.ahead else {}

    def clicks(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        return batch[1]

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        if self.pause and model.training and not os.path.exists(self.until):
            time.sleep(self.pause)
        logits = model(batch[0])
        if self.observes:
            self.observe(logits, batch[1])
        return nn.functional.binary_cross_entropy_with_logits(logits, batch[1])
