"""What a simulation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gradstream.center.ledger import Account, Decision
from gradstream.sim.costs import Traffic


@dataclass(frozen=True)
class Cut:
    """A checkpoint of the whole cluster. A new simulation that begins from it takes the path of the one that went on."""

    number: int
    """0: the final one, when all workers have left."""
    ranks: list[int]
    """The workers that took part."""
    shards: list[dict[str, Any]]
    workers: dict[int, dict[str, Any]]
    events: int
    """Pushes before it."""
    time: float
    service: dict[str, Any]


@dataclass(frozen=True)
class Result:
    center: Tensor
    """All slices, joined."""
    version: int
    samples: int
    events: int
    """Pushes that have reached the shards, since the beginning or the cut that this run came from."""
    time: float
    """Virtual."""
    decisions: list[Decision]
    """What became of each push, in the order of the decisions."""
    ledger: dict[int, Account]
    losses: dict[int, list[float]]
    """Of each mini-batch, by rank."""
    cuts: dict[int, Cut]
    shards: list[dict[str, Any]]
    """The state of each at the end."""
    times: list[float]
    """Virtual time of each decision."""
    compute: dict[int, float]
    """Virtual time that each rank spent on mini-batches, also on those that were lost with it."""
    wait: dict[int, float]
    """Virtual time that each rank spent waiting for answers and at the gate; 0 without costs."""
    bytes: Traffic
    deaths: int
    """Lives that were lost."""
    earlier: dict[int, Result] = field(default_factory=dict)
    """Results of the same run after fewer pushes, by their number."""

    @property
    def staleness(self) -> list[int]:
        """Of the pushes that counted."""
        return [decision.staleness for decision in self.decisions if decision.fate != "dropped"]
