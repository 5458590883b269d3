"""A wide-and-deep model of clicks, in a plain script: FTRL for weights of single values, Adagrad for their vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from gradstream import nn as gnn

FIELDS = ("age", "work", "schooling", "hours")
BATCH = 128
RULES = {
    "wide": {"rule": {"name": "ftrl", "alpha": 0.1, "l1": 1, "l2": 1}, "gradient": "sum"},
    "deep": {"rule": {"name": "adagrad", "rowwise": True, "lr": 0.1}, "admit": {"count": 3}},
}


class WideAndDeep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = gnn.EmbeddingBag("wide", 1, mode="sum")
        self.deep = gnn.Embedding("deep", 8)
        self.hidden = nn.Sequential(nn.Linear(8 * len(FIELDS), 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """`ids`: one of each field, (examples, fields)."""
        return (self.wide(ids) + self.hidden(self.deep(ids).flatten(1))).squeeze(1)


def batches(examples: int, seed: int = 1) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Ids of each field, and clicks."""
    rng = np.random.default_rng(seed)
    of_work = rng.normal(0, 1, 1000)
    for _ in range(examples // BATCH):
        age, schooling = rng.integers(17, 80, BATCH), rng.integers(1, 17, BATCH)
        work, hours = rng.zipf(1.3, BATCH) % 1000, rng.integers(10, 70, BATCH)
        logit = of_work[work] + 0.4 * (schooling - 8) - ((age - 45) / 15) ** 2 + (hours > 40) * (schooling > 10) * 2
        clicks = rng.random(BATCH) < 1 / (1 + np.exp(-logit))
        columns = (age, np.char.add("job-", work.astype(str)), schooling, hours)
        ids = [gnn.hashed(column.astype(str), field) for field, column in zip(FIELDS, columns, strict=True)]
        yield torch.stack(ids, 1), torch.from_numpy(clicks.astype(np.float32))


def train(examples: int = 60_000) -> list[float]:
    """The log loss of each mini-batch, before the step."""
    torch.manual_seed(0)
    model = WideAndDeep()
    dense, rows = torch.optim.Adagrad(model.parameters(), lr=0.05), gnn.TableOptimizer(model, RULES)
    losses = []
    for ids, clicks in batches(examples):
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids), clicks)
        dense.zero_grad()
        loss.backward()
        dense.step()
        rows.step()
        losses.append(loss.item())
        if len(losses) % 100 == 0:
            print(f"{len(losses) * BATCH:7,} examples: log loss {np.mean(losses[-100:]):.4f}")
    for name, table in rows.summary().items():
        print(f"table {name}: {table.rows} rows, {table.candidates} keys that were seen less than 3 times")
    return losses


if __name__ == "__main__":
    train()
