"""Workers that wait for the gate, and the response that each gets when the gate releases it."""

from __future__ import annotations

from gradstream.center.gate import GateKeeper
from gradstream.center.members import Members
from gradstream.center.responses import Held


class WaitingRanks:
    def __init__(self, gate: GateKeeper, members: Members) -> None:
        self._gate, self._members = gate, members
        self._held: dict[int, Held] = {}
        self._unasked: set[int] = set()
        """Waiting ranks added since the last full gate check."""
        self._stood: object = None
        """The gate's state at that check."""

    def __contains__(self, rank: int) -> bool:
        return rank in self._held

    def add(self, rank: int, held: Held) -> None:
        self._held[rank] = held
        self._unasked.add(rank)

    def drop(self, rank: int) -> None:
        """Remove a worker that has left."""
        self._held.pop(rank, None)

    def released(self, samples: int) -> list[tuple[int, Held]]:
        """Remove and return the ranks that may begin when the center has seen so many samples, in rank order.

        This checks all ranks only when the gate has moved, else the ranks added since the last check."""
        stands = self._gate.stands(self._members, samples)
        waiting = self._held.keys() if stands != self._stood else self._unasked & self._held.keys()
        self._stood = stands
        self._unasked = set()
        return [(rank, self._held.pop(rank)) for rank in self._gate.free(waiting, self._members, samples)]
