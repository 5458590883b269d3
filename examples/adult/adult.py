"""Wide and deep on the Adult census: does a person earn more than 50,000 dollars a year? Every value of every column is a key.

    logit = sum_c w(value_c) + MLP(v(value_1), ..., v(value_C))

Source: Cheng et al. 2016, "Wide & Deep Learning for Recommender Systems".
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream import nn as gnn

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
)
NUMBERS = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}
BINS = 20


class WideAndDeep(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.wide = gnn.EmbeddingBag("wide", 1, mode="sum")
        self.bias = nn.Parameter(torch.zeros(()))
        if dim:
            self.deep = gnn.Embedding("deep", dim)
            self.hidden = nn.Sequential(nn.Linear(dim * len(COLUMNS), 32), nn.ReLU(), nn.Linear(32, 1, bias=False))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """`ids`: one of each column, (examples, columns)."""
        logits = self.wide(ids).squeeze(1) + self.bias
        return logits + self.hidden(self.deep(ids).flatten(1)).squeeze(1) if hasattr(self, "deep") else logits


class Adult(Workload):
    classifies = False
    path: str  # adult.data; the same on every node
    dim: int = 8  # of the deep part; 0: the wide part alone, which is logistic regression

    def model(self) -> nn.Module:
        return WideAndDeep(self.dim)

    def dataset(self, split: str) -> TensorDataset:
        ids, rich = read(Path(self.path))
        held_out = torch.arange(len(ids)) % 5 == 0
        chosen = held_out if split == "eval" else ~held_out
        return TensorDataset(ids[chosen], rich[chosen])

    def ids(self, batch: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        """One request brings the rows of both tables."""
        return {"wide": batch[0]} | ({"deep": batch[0]} if self.dim else {})

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        ids, rich = batch
        logits = model(ids)
        self.observe(logits, rich)  # AUC, log loss and calibration
        return nn.functional.binary_cross_entropy_with_logits(logits, rich)


def read(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids, (people, columns), and 1 for those who earn more than 50,000 dollars."""
    with path.open(newline="") as file:
        rows = [[value.strip() for value in row] for row in csv.reader(file)]
    people = [row for row in rows if len(row) == len(COLUMNS) + 1 and row[0].isdigit()]  # some copies begin with titles
    *columns, earns = zip(*people, strict=True)
    named = zip(COLUMNS, columns, strict=True)
    ids = [gnn.hashed(_in_bins(column) if name in NUMBERS else list(column), name) for name, column in named]
    return torch.stack(ids, 1), torch.tensor([earned.startswith(">") for earned in earns], dtype=torch.float32)


def _in_bins(column: tuple[str, ...]) -> list[str]:
    """Number the bins of equal size, by rank. Equal values share one."""
    values = np.array(column, float)
    return list((np.searchsorted(np.sort(values), values) * BINS // len(values)).astype(str))
