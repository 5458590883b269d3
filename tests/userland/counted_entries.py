"""A model that counts: the parameter of an entry moves by the same step each time that entry is learned."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gradstream import Workload, data


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
    """Of Kafka, whose topic is read instead."""

    def model(self) -> nn.Module:
        return Counter(self.entries)

    def dataset(self, split: str) -> Any:
        if self.servers:
            return data.kafka(self.servers, self.key, ids=["user"], idle=3600)
        return data.redis_stream(self.url, self.key, ids=["user"])

    def loss(self, model: nn.Module, batch: dict[str, Any]) -> Tensor:
        learned: Tensor = model.learned[batch["user"]]  # type: ignore[index]
        return -learned.mean()
