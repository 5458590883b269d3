"""A model that counts: the parameter of an entry moves by the same step each time that entry is learned."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gradstream import Workload, data
from gradstream import nn as gnn


class Counter(nn.Module):
    def __init__(self, entries: int) -> None:
        super().__init__()
        self.learned = nn.Parameter(torch.zeros(entries))


class CountedEntries(Workload):
    classifies = False
    url: str = ""
    key: str
    entries: int
    servers: str = ""
    """Kafka brokers whose topic is read instead."""

    def model(self) -> nn.Module:
        return Counter(self.entries)

    def dataset(self, split: str) -> Any:
        if self.servers:
            return data.kafka(self.servers, self.key, ids=["user"], idle=3600)
        return data.redis_stream(self.url, self.key, ids=["user"])

    def loss(self, model: nn.Module, batch: dict[str, Any]) -> Tensor:
        learned: Tensor = model.learned[batch["user"]]  # type: ignore[index]
        return -learned.mean()


class CountedRows(CountedEntries):
    """The same with a row of a table for each entry, which a push asks for."""

    def model(self) -> nn.Module:
        return gnn.Embedding("user", 1)

    def ids(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        return {"user": batch["user"]}

    def loss(self, model: nn.Module, batch: dict[str, Any]) -> Tensor:
        return -model(batch["user"]).mean()
