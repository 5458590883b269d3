"""A click model on a Parquet file: a user with a 64-bit id, and any number of tags that are strings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from gradstream import Workload, data
from gradstream import nn as gnn


class UserAndTags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.user, self.tags = gnn.Embedding("user", 1), gnn.EmbeddingBag("tags", 1, mode="sum")
        self.price = nn.Linear(1, 1)

    def forward(self, batch: dict[str, Any]) -> Tensor:
        out: Tensor = self.user(batch["user"]) + self.tags(*batch["tags"]) + self.price(batch["features"])
        return out.squeeze(1)


class ParquetClicks(Workload):
    classifies = False
    folder: str
    streams: bool = False
    follows: bool = False
    """The training split is a folder that grows."""

    def model(self) -> nn.Module:
        return UserAndTags()

    def dataset(self, split: str) -> Any:
        if self.follows and split == "train":
            return data.parquet_folder(f"{self.folder}/train", ["price"], "click", ids=["user", "tags"])
        open_table = data.parquet_stream if self.streams else data.parquet
        return open_table(f"{self.folder}/{split}.parquet", ["price"], "click", ids=["user", "tags"])

    def ids(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        return {"user": batch["user"], "tags": batch["tags"].ids}

    def loss(self, model: nn.Module, batch: dict[str, Any]) -> Tensor:
        logits, clicks = model(batch), batch["click"].to(torch.float32)
        self.observe(logits, clicks)
        return binary_cross_entropy_with_logits(logits, clicks)
