"""DeepFM that learns from a folder, a Redis stream or a Kafka topic while `fill.py` fills it: each example once, a test before it
is a lesson."""

from __future__ import annotations

from pathlib import Path

import torch
from clicklog import FIELDS
from deepfm import DeepFm
from torch import nn
from torch.utils.data import Dataset, IterableDataset

from gradstream import Workload, data

IDS = [f"id_{field}" for field in range(FIELDS)]


class Stream(Workload):
    classifies = False
    folder: str  # the one that is filled; the same on every node
    url_file: str = ""  # of a Redis, if its stream is filled instead; the same on every node
    servers: str = ""  # of Kafka, if its topic is filled instead
    settings: str = ""  # a file with settings of the Kafka client, such as an account; the same on every node
    dim: int = 8

    def model(self) -> nn.Module:
        return DeepFm(self.dim)

    def dataset(self, split: str) -> Dataset[object] | IterableDataset[object]:
        if split == "train" and self.servers:
            return data.kafka(self.servers, "clicks", label="click", ids=IDS, settings=self.settings or None)
        if split == "train" and self.url_file:
            return data.redis_stream(Path(self.url_file).read_text().strip(), "clicks", label="click", ids=IDS)
        if split == "train":
            return data.parquet_folder(self.folder, label="click", ids=IDS)
        return data.parquet(Path(self.folder) / "held-out" / "clicks.parquet", label="click", ids=IDS)

    def ids(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        ids = columns(batch)
        return {"weights": ids, "vectors": ids}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        logits, clicked = model(columns(batch)), batch["click"].float()
        self.observe(logits, clicked)  # train/auc, and pass/auc of each file, or of 100,000 examples
        return nn.functional.binary_cross_entropy_with_logits(logits, clicked)


def columns(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """One id of each field, (examples, fields)."""
    return torch.stack([batch[name] for name in IDS], 1)
