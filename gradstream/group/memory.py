"""The memory that the processes of a group share: one theta, and vectors like it for gradients.

It belongs to no file. The peers inherit it when the lead forks them, so it goes with the last of them, however they end. A vector
takes memory only where someone has written.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import torch
from torch import Tensor

from gradstream.group.mesh import PeerMesh, PeerPlace
from gradstream.model.flat_model import FlatModel


class GroupMemory:
    def __init__(self, flat: FlatModel, mesh: PeerMesh, homes: Sequence[int]) -> None:
        """`flat`: its theta is a `shared_vector`. `homes`: the stage in which each parameter is at home, by index; see `homes_of`.
        Raises: OSError: there is no memory."""
        self._flat, self._homes = flat, homes
        self.theta = flat.theta
        """Written while no peer computes."""
        self.sums = [self._vector() for _ in range(mesh.replicate)]
        """The gradient of each replicate. If the first one is the lead alone, it has its own elsewhere."""
        self.direction = self._vector()
        """Another direction than the first sum, for a step of the optimizer."""
        beside = range(mesh.stages if mesh.stages > 1 else 0)
        self.beside = [[self._vector() for _ in beside] for _ in range(mesh.replicate)]
        """By replicate and stage: gradients of parameters that this stage reaches, and that are at home in another."""

    def _vector(self) -> Tensor:
        return shared_vector(self.theta.numel(), self.theta.dtype)

    def places_at(self, place: PeerPlace) -> list[Tensor]:
        """Return where the peer at this place leaves the gradient of each parameter."""
        sums = self._flat.views_of(self.sums[place.replicate])
        if not self.beside[place.replicate]:
            return sums
        beside = self._flat.views_of(self.beside[place.replicate][place.stage])
        return [ours if home == place.stage else own for ours, own, home in zip(sums, beside, self._homes, strict=True)]


def shared_vector(size: int, dtype: torch.dtype) -> Tensor:
    """Return a vector of zeros that processes see which are forked later. Its pages take memory when they are first written.
    Raises: OSError: there is no memory."""
    return torch.frombuffer(mmap.mmap(-1, size * dtype.itemsize), dtype=dtype) if size else torch.empty(0, dtype=dtype)


def leave_gradient(gradient: Tensor, place: Tensor, *, add: bool) -> None:
    """Copy a gradient to its place in the host's memory, or add it to what is there. It may be on a device."""
    dense = (gradient.to_dense() if gradient.is_sparse else gradient).detach()
    place.add_(dense.to(place.device)) if add else place.copy_(dense)
