"""The mesh of a group: the place of each peer along every axis, and its share of a mini-batch.

    peer = ((replicate * m + fsdp) * p + stage) * t + tensor      with m along fsdp, p stages and t along tensor

So the lead is the first along all axes. An axis works between the peers that differ along it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple, TypeVar

from gradstream.spec.roles import WorkerGroup

T = TypeVar("T")


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


def shares_of(shares: Sequence[T], mesh: PeerMesh) -> list[tuple[list[T], int]]:
    """Return the parts of a mini-batch that each peer computes, and how many its replicate has: peers along fsdp take them in turn,
    and all others along stages and tensor have the same."""
    of_replicates = share_out(shares, mesh.replicate)
    return [
        (of_replicates[place.replicate][place.fsdp :: mesh.fsdp], len(of_replicates[place.replicate])) for place in mesh.places()
    ]


def share_out(shares: Sequence[T], count: int) -> list[list[T]]:
    """Return the parts of a mini-batch that each replicate computes, in order. With fewer parts than replicates, some have none."""
    ends = [-(-len(shares) * number // count) for number in range(count + 1)]
    return [list(shares[start:end]) for start, end in pairwise(ends)]
