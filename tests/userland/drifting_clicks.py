"""A wide click model on an endless log whose clicks drift: weights of ids turn slowly, and ids are replaced by new ones.

    logit = -1 + sum_f w(id_f, t),    w(id, t) = a(id) cos(t pi / 2) + b(id) sin(t pi / 2),    a, b ~ N(0, 1)

t goes from 0 to 1 within `turn` passes. Each id is replaced once within `replaced` passes, at a time of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import IterableDataset

from gradstream import Workload
from gradstream import nn as gnn

FIELDS, IDS, GENERATIONS = 4, 1000, 4


class ClickPasses(IterableDataset[tuple[Tensor, Tensor]]):
    """Pass k has examples of its own, the same in each process."""

    def __init__(self, examples: int, turn: float = 0, replaced: float = 0) -> None:
        self.examples, self.turn, self.replaced, self.number = examples, turn, replaced, 0
        draw = np.random.default_rng(5)
        self.weights = draw.normal(size=(2, FIELDS * IDS * GENERATIONS))
        self.phases = draw.random(FIELDS * IDS)

    def __len__(self) -> int:
        return self.examples

    def set_epoch(self, number: int) -> None:
        self.number = number

    def read(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return ids, probabilities of a click, and clicks of the pass."""
        draw = np.random.default_rng([7, self.number])
        ids = np.minimum(draw.zipf(1.2, (self.examples, FIELDS)) - 1, IDS - 1) + np.arange(FIELDS) * IDS
        if self.replaced:
            ids = ids + np.floor(self.number / self.replaced + self.phases[ids]).astype(int) % GENERATIONS * FIELDS * IDS
        angle = self.number / self.turn * np.pi / 2 if self.turn else 0.0
        logits = -1 + (self.weights[0, ids] * np.cos(angle) + self.weights[1, ids] * np.sin(angle)).sum(1)
        p = 1 / (1 + np.exp(-logits))
        return ids, p, draw.random(self.examples) < p

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        ids, _, clicked = self.read()
        yield from zip(torch.from_numpy(ids), torch.from_numpy(clicked.astype(np.float32)), strict=True)


class DriftingClicks(Workload):
    classifies = False
    examples: int = 2000
    turn: float = 0
    replaced: float = 0

    def model(self) -> nn.Module:
        return nn.Sequential(gnn.EmbeddingBag("wide", 1, mode="sum"), nn.Flatten(0))

    def dataset(self, split: str) -> Any:
        return ClickPasses(self.examples, self.turn, self.replaced)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        ids, clicked = batch
        logits: Tensor = model(ids)
        self.observe(logits, clicked)
        return nn.functional.binary_cross_entropy_with_logits(logits, clicked)
