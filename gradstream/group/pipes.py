"""The pipes between the peers of a group, beside those of the lead to each. Made before they are forked.

stages    to the same place of the next stage, and back
fsdp      from each place to the next one, and from the last to the first: what has been added to the gradient
tensor    an inbox for each place, in which the others write
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from gradstream.group.mesh import PeerMesh, PeerPlace
from gradstream.group.tensor.exchange import SharedSlots


class PlacePipes(NamedTuple):
    """The ends that the peer at one place has."""

    before: Connection | None
    after: Connection | None
    """To the stages before and after; None: there is no such one."""
    turn: Connection | None
    """From the peer before along fsdp; None: there is no such axis."""
    next_turns: Sequence[Connection]
    """To the peers after along fsdp. With tensor, the first peer writes to all, and the others to none."""
    slots: SharedSlots | None
    """Shared by the peers along tensor; None: there is no such axis."""

    def ends(self) -> Iterator[Connection]:
        yield from (end for end in (self.before, self.after, self.turn, *self.next_turns) if end)


class GroupPipes:
    def __init__(self, mesh: PeerMesh) -> None:
        """Raises: OSError: there is no memory, or too many files are open."""
        self._mesh, places = mesh, mesh.places()
        self._stages = {place: multiprocessing.Pipe() for place in places if place.stage + 1 < mesh.stages}
        self._turns = {place: multiprocessing.Pipe(duplex=False) for place in places} if mesh.fsdp > 1 else {}
        rows = [place for place in places if place.tensor == 0] if mesh.tensor > 1 else []
        self._slots = {row: SharedSlots(mesh.tensor) for row in rows}

    def become(self, place: PeerPlace) -> PlacePipes:
        """Return the ends of the peer at this place, and close all others, so that the end of a neighbour shows."""
        found = PlacePipes(
            self._stages[place._replace(stage=place.stage - 1)][1] if place.stage else None,
            self._stages[place][0] if place in self._stages else None,
            self._turns[place][0] if self._turns else None,
            [self._turns[following][1] for following in self._after(place)] if self._turns else [],
            self._slots.get(place._replace(tensor=0)),
        )
        kept = [*found.ends(), *(found.slots.ends_of(place.tensor) if found.slots else [])]
        for end in self._all_ends():
            if not any(end is own for own in kept):
                end.close()
        return found

    def _after(self, place: PeerPlace) -> list[PeerPlace]:
        following = place._replace(fsdp=(place.fsdp + 1) % self._mesh.fsdp)
        return [] if place.tensor else [following._replace(tensor=number) for number in range(self._mesh.tensor)]

    def _all_ends(self) -> Iterator[Connection]:
        for pipes in (self._stages.values(), self._turns.values(), *(slots.inboxes for slots in self._slots.values())):
            for pair in pipes:
                yield from pair
