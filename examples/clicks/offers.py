"""The model of `clicks.py` as a job: workers and servers share its tables."""

from __future__ import annotations

from typing import Any

import torch
from clicks import WideAndDeep, batches
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

HELD_OUT = 6_000


class Offers(Workload):
    classifies = False
    examples: int = 60_000

    def model(self) -> nn.Module:
        return WideAndDeep()

    def dataset(self, split: str) -> TensorDataset:
        ids, clicks = (torch.cat(column) for column in zip(*batches(self.examples + HELD_OUT), strict=True))
        chosen = slice(-HELD_OUT, None) if split == "eval" else slice(0, -HELD_OUT)
        return TensorDataset(ids[chosen], clicks[chosen])

    def ids(self, batch: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        """One request brings the rows of both tables."""
        return {"wide": batch[0], "deep": batch[0]}

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        ids, clicks = batch
        return nn.functional.binary_cross_entropy_with_logits(model(ids), clicks)

    def evaluate(self, model: nn.Module, batch: list[torch.Tensor]) -> dict[str, Any]:
        logits = model(batch[0])
        loss = nn.functional.binary_cross_entropy_with_logits(logits, batch[1])
        return {"loss": loss.item(), "logits": logits, "clicks": batch[1]}

    def summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        """AUC: the share of pairs of a click and no click in which the click has the larger logit."""
        logits, clicks = (torch.cat([output[name] for output in outputs]) for name in ("logits", "clicks"))
        ranks = logits.double().argsort().argsort().double() + 1
        positives = clicks.sum().item()
        pairs = positives * (len(clicks) - positives)
        return {"auc": (ranks[clicks == 1].sum().item() - positives * (positives + 1) / 2) / pairs}
