"""The rules of each gate. A gate answers three questions: is a push too late to count, which pushes count together now,
and which waiting workers may begin. The shard asks after *every* entry, since a join or a leave can open the gate too."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from typing import Any, Protocol

import torch
from msgspec.structs import asdict
from torch import Tensor

from gradstream.center.entries import Push
from gradstream.center.members import Members
from gradstream.gate import Gate
from gradstream.own_pages import own_copy

Pending = dict[int, tuple[Push, Tensor]]


class GateKeeper(Protocol):
    pending: Pending
    """Pushes waiting for their round to close, by rank."""

    def late(self, push: Push, version: int) -> bool:
        """Return whether the shard must drop the push."""

    def closes(self, members: Collection[int]) -> list[int] | None:
        """Return the ranks whose pending pushes make the round, in the order of the log; None while it stays open."""

    def open(self, members: Collection[int]) -> None:
        """Begin the next round."""

    def free(self, waiting: Collection[int], members: Members, samples: int) -> list[int]:
        """Return the waiting ranks that may begin when the center has seen so many samples, in rank order."""

    def stands(self, members: Members, samples: int) -> object:
        """Return the state that `free` depends on beside the rank: while it stays equal, a rank that had to wait still has to."""

    def state(self) -> dict[str, Any]: ...
    def load(self, state: dict[str, Any], device: torch.device) -> None:
        """Restore the result of `state`, with its vectors on this device."""


class Immediate:
    """asp and ssp: a push counts alone and at once. ssp holds back workers more than `bound` ahead of the slowest; a warm start
    holds back all live workers but the lowest rank."""

    def __init__(self, gate: Gate) -> None:
        self.bound = gate.bound if gate.mode == "ssp" else None
        self.max_staleness = gate.max_staleness
        self.warm_start = gate.warm_start or 0
        self.pending: Pending = {}

    def late(self, push: Push, version: int) -> bool:
        return self.max_staleness is not None and version - push.base >= self.max_staleness

    def closes(self, members: Collection[int]) -> list[int] | None:
        return None

    def open(self, members: Collection[int]) -> None:
        """Do nothing: there are no rounds."""

    def free(self, waiting: Collection[int], members: Members, samples: int) -> list[int]:
        if samples < self.warm_start:
            lowest_rank = min(members, default=-1)
            return [rank for rank in waiting if rank == lowest_rank]
        if self.bound is None:
            return sorted(waiting)
        slowest = members.slowest()
        return sorted(rank for rank in waiting if members[rank].clock - slowest <= self.bound)

    def stands(self, members: Members, samples: int) -> object:
        if samples < self.warm_start:
            return "warm start", min(members, default=-1)
        return None if self.bound is None else members.slowest()

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any], device: torch.device) -> None:
        """Restore nothing: clocks belong to the members."""


class Rounds:
    """bsp: a round closes when every live member of its cohort has pushed, or when the quorum has."""

    def __init__(self, gate: Gate) -> None:
        self.quorum, self.share = gate.quorum, gate.cohort
        self.pending: Pending = {}
        self.cohort: set[int] = set()
        self.number = 0
        self._order: list[int] = []
        self._at = 0
        """The index in `_order` (the cohort) at which the search for a missing worker resumes."""

    def late(self, push: Push, version: int) -> bool:
        return push.base < version

    def closes(self, members: Collection[int]) -> list[int] | None:
        """Also begin the next round if this one can get no pushes any more."""
        enough = self.quorum is not None and len(self.pending) >= self.quorum
        missing = not enough and self._misses(members)
        if self.pending and not missing:
            return list(self.pending)[: self.quorum]
        if not missing:
            self.open(members)
        return None

    def _misses(self, members: Collection[int]) -> bool:
        """Return whether a live worker of the cohort has not pushed. The search resumes at the worker found last and checks all
        before it returns False: a round costs two checks of each worker, not one check of all for each push."""
        for _ in range(2):
            while self._at < len(self._order):
                rank = self._order[self._at]
                if rank in members and rank not in self.pending:
                    return True
                self._at += 1
            self._at = 0
        return False

    def open(self, members: Collection[int]) -> None:
        ranks = sorted(members)
        size = math.ceil(self.share * len(ranks) - 1e-9)  # ceil(C n), whatever floats make of 0.07 * 100
        self._gather(random.Random(self.number).sample(ranks, size))
        self.number += 1
        self.pending = {}

    def _gather(self, cohort: Collection[int]) -> None:
        self.cohort, self._order, self._at = set(cohort), sorted(cohort), 0

    def free(self, waiting: Collection[int], members: Members, samples: int) -> list[int]:
        return sorted(rank for rank in waiting if rank in self.cohort and rank not in self.pending)

    def stands(self, members: Members, samples: int) -> object:
        return self.number

    def state(self) -> dict[str, Any]:
        pending = [(asdict(push), own_copy(x)) for push, x in self.pending.values()]
        return {"pending": pending, "cohort": sorted(self.cohort), "number": self.number}

    def load(self, state: dict[str, Any], device: torch.device) -> None:
        """A push that was pending at the checkpoint still counts, though no worker waits for its response (incarnation -1).
        The rank's new incarnation waits for the round to close, as all do."""
        self._gather(state["cohort"])
        self.number = state["number"]
        pending = [(_known_push(push), x.to(device)) for push, x in state["pending"]]
        self.pending = {push.rank: (push, x) for push, x in pending}


def _known_push(state: dict[str, Any]) -> Push:
    """Return a stored push without the fields that a newer version has added."""
    return Push(**{name: state[name] for name in Push.__struct_fields__ if name in state} | {"incarnation": -1})


def keeper(gate: Gate) -> GateKeeper:
    return Rounds(gate) if gate.mode == "bsp" else Immediate(gate)
