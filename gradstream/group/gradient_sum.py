"""The gradient of a mini-batch as the lead puts it together, of what all peers have left.

gradient = sum of replicate 0 + sum of replicate 1 + ...        to each its own: what a stage has of a parameter of another
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from gradstream.group.fsdp.buckets import add_late
from gradstream.group.memory import GroupMemory
from gradstream.group.mesh import PeerMesh
from gradstream.group.requests import Left
from gradstream.model.flat_model import FlatModel


class GradientSum:
    def __init__(self, flat: FlatModel, mesh: PeerMesh, memory: GroupMemory, homes: Sequence[int]) -> None:
        self._flat, self._mesh, self._memory, self._homes = flat, mesh, memory, homes
        self._places = mesh.places()
        self.begin()

    def begin(self) -> None:
        """Forget the mini-batch before."""
        self._reached = [[set[int]() for _ in range(self._mesh.stages)] for _ in range(self._mesh.replicate)]
        self._late = list[dict[int, Tensor]]()
        self._have = set[int]()
        """Parameters whose places in the sum have a gradient."""

    def note(self, number: int, left: Left) -> None:
        """Note what a peer has left."""
        place = self._places[number]
        self._reached[place.replicate][place.stage].update(left.reached)
        self._late.append(dict(left.late))

    def finish(self) -> Tensor:
        """Return the whole sum, shape (size,)."""
        total = self._flat.gradient if self._mesh.only_replicates else self._memory.sums[0]
        places = self._flat.views_of(total)
        for replicate, stages in enumerate(self._reached):
            at_home = {index for stage, reached in enumerate(stages) for index in reached if self._homes[index] == stage}
            if replicate:
                self._add(total, places, self._memory.sums[replicate], at_home)
            else:
                self._have |= at_home
            for stage, reached in enumerate(stages):
                if away := sorted(index for index in reached if self._homes[index] != stage):
                    self._add(total, places, self._memory.beside[replicate][stage], away)
        for index in set(range(len(places))) - self._have:
            places[index].zero_()
        for late in self._late:
            add_late(late, places)
        return total

    def _add(self, total: Tensor, places: Sequence[Tensor], vector: Tensor, reached: Iterable[int]) -> None:
        """Add gradients from a vector: those of the parameters with these indices."""
        indices = list(reached)
        if len(indices) == len(self._have) == len(places):
            total += vector
            return
        theirs = self._flat.views_of(vector)
        for index in indices:
            if index in self._have:
                places[index] += theirs[index]
            else:
                places[index].copy_(theirs[index])
        self._have.update(indices)
