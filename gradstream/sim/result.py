"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gradstream.center.ledger import Account, Decision
from gradstream.observations.passes import ClosedPass
from gradstream.sim.times.costs import MovedBytes


@dataclass(frozen=True)
class SimulatedCheckpoint:
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
    """Pushes that have reached the shards, since the start or the checkpoint that this run resumed from."""
    time: float
    """Virtual time at the end."""
    decisions: list[Decision]
    """The outcome of each push, in the order of the decisions."""
    ledger: dict[int, Account]
    losses: dict[int, list[float]]
    """The loss of each mini-batch, by rank."""
    checkpoints: dict[int, SimulatedCheckpoint]
    shards: list[dict[str, Any]]
    """The state of each shard at the end."""
    times: list[float]
    """Virtual time of each decision."""
    compute: dict[int, float]
    """Virtual time that each rank spent on mini-batches, also on those that were lost with an incarnation."""
    wait: dict[int, float]
    """Virtual time that each rank spent waiting for responses and at the gate; 0 without costs."""
    bytes: MovedBytes
    failures: int
    """Incarnations that were lost."""
    passes: list[ClosedPass] = field(default_factory=list)
    """The figures of each pass that workers observed, in the order in which they closed."""
    earlier: dict[int, Result] = field(default_factory=dict)
    """Results of the same run after fewer pushes, by their number."""

    @property
    def staleness(self) -> list[int]:
        """The staleness of each push that counted."""
        return [decision.staleness for decision in self.decisions if decision.outcome != "dropped"]
