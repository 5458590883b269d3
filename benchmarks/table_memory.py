"""A table whose memory holds a tenth of its rows, against the same table all in memory.

Keys by Zipf: the frequent ones stay in memory, each lookup reads some of the others from the disk, and later as many are written.
Both tables are given the same mini-batches in turn, alone and under a model. Seconds of the wall clock, as a process may wait for
its disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from gradstream import nn as gnn
from gradstream.center.tables.table import EmbeddingTable
from gradstream.nn.optimizer import TableOptimizer

ZIPF = 1.05
"""Exponent of the keys' frequencies."""
WARM_UP = 150
"""Mini-batches in which memory fills with what is frequent."""
_PORTION = 50_000


def memory_ratios(
    model: Callable[[nn.Module], nn.Module], ids: tuple[int, int], rows: int, rounds: int, spec: dict[str, Any]
) -> dict[str, float]:
    """Return the throughput with a tenth of the rows in memory as a share of that with all: of training steps, and of lookups and
    pushes alone. Also the share of looked-up rows that came from the disk, and of the memory. `model`: around its embedding.
    `ids`: shape of a mini-batch."""
    torch.set_num_threads(1)
    rng, weights = np.random.default_rng(0), np.cumsum(np.arange(1, rows + 1) ** -ZIPF)

    def draw() -> torch.Tensor:
        return torch.from_numpy(np.searchsorted(weights, rng.random(ids) * weights[-1]))

    runs = {"all": _Run(model, rows, spec), "tenth": _Run(model, rows, {**spec, "memory": {"rows": rows // 10}})}
    tier = runs["tenth"].table.tier
    assert tier is not None
    for number in range(WARM_UP + rounds):
        batch, exchanged = draw(), np.unique(draw().numpy())
        for run in runs.values():
            run.step(batch)
            run.exchange(exchanged)
        if number == WARM_UP - 1:
            tier.take_lookups()
    looked_up, cold = tier.take_lookups()
    least = {name: (min(run.steps[WARM_UP:]), min(run.exchanges[WARM_UP:])) for name, run in runs.items()}
    return {
        "bounded": least["all"][0] / least["tenth"][0],
        "bounded_exchange": least["all"][1] / least["tenth"][1],
        "from_disk": cold / looked_up,
        "bounded_memory": runs["tenth"].table.nbytes / runs["all"].table.nbytes,
    }


class _Run:
    """A model with its table, and the seconds that it took."""

    def __init__(self, model: Callable[[nn.Module], nn.Module], rows: int, spec: dict[str, Any]) -> None:
        self._model = model(gnn.Embedding("t", 16))
        self._rows = TableOptimizer(self._model, {"t": spec})
        self._dense = torch.optim.Adagrad(self._model.parameters(), lr=0.05)
        self.steps, self.exchanges = list[float](), list[float]()
        for first in range(0, rows, _PORTION):
            self.exchange(np.arange(first, min(rows, first + _PORTION)))
        self.exchanges.clear()

    @property
    def table(self) -> EmbeddingTable:
        return self._rows._tables["t"].table

    def exchange(self, keys: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Look rows up and push gradients."""
        began = time.perf_counter()
        found = self.table.look_up(keys)
        self.table.push(keys, found.loans, found.values, np.ones(len(keys), np.int64))
        self.exchanges.append(time.perf_counter() - began)

    def step(self, ids: torch.Tensor) -> None:
        began = time.perf_counter()
        with torch.enable_grad():
            loss = nn.functional.binary_cross_entropy_with_logits(self._model(ids), torch.ones(len(ids)))
            self._dense.zero_grad()
            torch.autograd.backward(loss)
        self._dense.step()
        self._rows.step()
        self.steps.append(time.perf_counter() - began)
