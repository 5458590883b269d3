"""The mesh of a group: the place of each peer along every axis.

    peer = ((replicate * m + fsdp) * p + stage) * t + tensor      with m along fsdp, p stages and t along tensor

So the lead is the first along all axes. An axis works between the peers that differ along it alone.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from gradstream.spec.roles import WorkerGroup


class PeerPlace(NamedTuple):
    replicate: int
    fsdp: int
    stage: int
    tensor: int


class PeerMesh(NamedTuple):
    """How many peers there are along each axis."""

    replicate: int
    fsdp: int
    stages: int
    tensor: int

    @classmethod
    def of(cls, group: WorkerGroup) -> PeerMesh:
        return cls(group.replicate, group.fsdp, group.stages, group.tensor)

    @property
    def only_replicates(self) -> bool:
        """Each replicate is one process."""
        return self[1:] == (1, 1, 1)

    def places(self) -> list[PeerPlace]:
        """Return the place of each peer, in their order."""
        return [PeerPlace(*indices) for indices in product(*map(range, self))]

    def number_of(self, place: PeerPlace) -> int:
        """Return the number of the peer at this place."""
        return ((place.replicate * self.fsdp + place.fsdp) * self.stages + place.stage) * self.tensor + place.tensor
