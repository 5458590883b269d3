"""The work items as a Gradstream workload: what a user would write, and a counter."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from benchmarks.peers import work
from benchmarks.peers.counter import Counter
from gradstream import Workload
from gradstream.workload import Split


class Work(Workload):
    item: str
    data: str
    counters: str = ""
    """Folder in which each thread that trains counts; empty: none counts."""
    scored: int = 10_000
    """Test images that the evaluator scores. Peers score none, so that there are few while time is measured."""

    def model(self) -> nn.Module:
        self._thread = threading.local()
        return work.model(self.item, hosted=True)

    def ids(self, batch: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"ids": batch[0]} if self.item == "clicks" else {}

    def dataset(self, split: Split) -> TensorDataset:
        images, labels = (torch.from_numpy(part) for part in work.load(self.data, split, self.item))
        return TensorDataset(images, labels) if split == "train" else TensorDataset(images[: self.scored], labels[: self.scored])

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        loss = work.loss(self.item, model(images), labels)
        if self.counters and model.training:
            if not hasattr(self._thread, "counter"):
                self._thread.counter = Counter(self.counters)
            self._thread.counter.add(len(labels), loss.item())
        return loss

    def evaluate(self, model: nn.Module, batch: list[torch.Tensor]) -> dict[str, Any]:
        if self.item == "clicks":
            return {"loss": work.loss(self.item, model(batch[0]), batch[1]).item()}
        return super().evaluate(model, batch)
