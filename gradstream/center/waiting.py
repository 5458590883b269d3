"""Workers that wait for the gate, and what each gets when it lets them go."""

from __future__ import annotations

from gradstream.center.answers import Held
from gradstream.center.gate import GateKeeper
from gradstream.center.members import Members


class Waiting:
    def __init__(self, gate: GateKeeper, members: Members) -> None:
        self._gate, self._members = gate, members
        self._held: dict[int, Held] = {}
        self._unasked: set[int] = set()
        """Of those that wait, who has come since the gate was asked about all."""
        self._stood: object = None
        """How the gate stood then."""

    def __contains__(self, rank: int) -> bool:
        return rank in self._held

    def add(self, rank: int, held: Held) -> None:
        self._held[rank] = held
        self._unasked.add(rank)

    def drop(self, rank: int) -> None:
        """It is not there any more."""
        self._held.pop(rank, None)

    def released(self, samples: int) -> list[tuple[int, Held]]:
        """Who may begin when the center has seen so many samples, in rank order: they wait no more. All are looked at only when the
        gate has moved, else those who came since."""
        stands = self._gate.stands(self._members, samples)
        waiting = self._held.keys() if stands != self._stood else self._unasked & self._held.keys()
        self._stood = stands
        self._unasked = set()
        return [(rank, self._held.pop(rank)) for rank in self._gate.free(waiting, self._members, samples)]
