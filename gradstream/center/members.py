"""Membership: the live workers, the workers that left and why, and the barred incarnations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gradstream.center.entries import Join, Leave
from gradstream.center.positions import Position


@dataclass(slots=True)
class Member:
    """A live worker."""

    incarnation: int
    clock: int
    """Pushes of this rank, over all its incarnations; ssp compares it."""
    seq: int = 0
    saved: int = 0
    """`seq` of its `Saved` entry, while a checkpoint is being made; else 0."""
    rejected: int = 0
    """Number of its last `Rejected`."""


class Members(dict[int, Member]):
    """The live workers, by rank."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        """Ranks that the job has."""
        self.left: dict[int, Leave] = {}
        """The leave of the highest incarnation of each rank: it bars that one and all before it."""
        self.positions: dict[int, Position] = {}
        """Position of the last push of each rank: its next incarnation continues there."""
        self._clocks: dict[int, int] = {}
        """Clocks from the checkpoint that this attempt resumed from, for ranks that have not joined yet."""
        self._at_clock: Counter[int] = Counter()
        """Live workers by clock. With `_slowest`, an entry costs the same with any number of workers."""
        self._slowest = 0
        self._last_seqs: dict[tuple[int, int], int] = {}
        """Last seq of incarnations that are over, so that a zombie's repeated entry does not count twice."""

    def all_known(self) -> bool:
        """Return whether every rank has joined or left."""
        return len(self.keys() | self.left.keys()) >= self.count

    def all_done(self) -> bool:
        """Return whether every rank has left by itself, and none was respawned."""
        return not self and all(rank in self.left and self.left[rank].why != "lost" for rank in range(self.count))

    def lowest_clock(self) -> int:
        """Return the lowest clock of all ranks that are live, or were at the checkpoint; 0 if there are none."""
        return min((*(member.clock for member in self.values()), *self._clocks.values()), default=0)

    def slowest(self) -> int:
        """Return the lowest clock of a live worker; 0 if there is none."""
        if not self:
            return 0
        while not self._at_clock[self._slowest]:  # clocks rise by 1, so in the long run less than a step for each push
            self._slowest += 1
        return self._slowest

    def tick(self, rank: int) -> None:
        """Count one more push of a live worker."""
        member = self[rank]
        self._depart(member.clock)
        member.clock += 1
        self._at_clock[member.clock] += 1

    def unfinished(self) -> list[int]:
        """Return the live workers, and those that are away."""
        return [*self, *self.away()]

    def away(self) -> list[int]:
        """Return the lost workers of which another incarnation may come."""
        return [rank for rank, leave in self.left.items() if leave.why == "lost" and rank not in self]

    def join(self, join: Join) -> bool:
        """False: the incarnation is barred, or has joined. A new worker starts at the lowest clock, or the others would wait."""
        present, left = self.get(join.rank), self.left.get(join.rank)
        if join.incarnation <= max(present.incarnation if present else -1, left.incarnation if left else -1):
            return False
        self._forget(join.rank)
        clock = self._clocks.pop(join.rank, self.lowest_clock())
        self._slowest = min(self._slowest, clock) if self else clock
        self._at_clock[clock] += 1
        self[join.rank] = Member(join.incarnation, clock)
        return True

    def leave(self, leave: Leave) -> bool:
        """Note that a rank has left. True: it was a live worker."""
        before = self.left.get(leave.rank)
        if before is None or leave.incarnation > before.incarnation:
            self.left[leave.rank] = leave
        self._clocks.pop(leave.rank, None)
        present = self.get(leave.rank)
        if present is None or present.incarnation > leave.incarnation:
            return False
        self._forget(leave.rank)
        return True

    def _forget(self, rank: int) -> None:
        if member := self.pop(rank, None):
            self._depart(member.clock)
            self._last_seqs[rank, member.incarnation] = member.seq

    def _depart(self, clock: int) -> None:
        self._at_clock[clock] -= 1
        if not self._at_clock[clock]:
            del self._at_clock[clock]

    def is_news(self, rank: int, incarnation: int, seq: int) -> bool:
        """Return whether this entry is the next one of a live incarnation: False for a repeat, and for a zombie."""
        member = self.get(rank)
        return member is not None and member.incarnation == incarnation and member.seq < seq

    def first_sight(self, rank: int, incarnation: int, seq: int) -> bool:
        """For an entry of an incarnation that is over, return whether it is new: False for a repeat."""
        if seq <= self._last_seqs.get((rank, incarnation), 0):
            return False
        self._last_seqs[rank, incarnation] = seq
        return True

    def state(self) -> dict[str, Any]:
        clocks = self._clocks | {rank: member.clock for rank, member in self.items()}
        return {"clocks": clocks, "positions": dict(self.positions), "away": sorted(self.away())}

    def load(self, state: dict[str, Any]) -> None:
        self._clocks, self.positions = dict(state["clocks"]), dict(state["positions"])
