"""The memory that the processes of a group share: one theta, and a gradient for each peer beside the lead.

It belongs to no file. The peers inherit it when the lead forks them, so it goes with the last of them, however they end.
"""

from __future__ import annotations

import mmap

import torch
from torch import Tensor


class GroupMemory:
    def __init__(self, theta: Tensor, peers: int) -> None:
        """`theta`: shape (size,), on the CPU; it is copied. `peers`: of the whole group. Raises: OSError: there is no memory."""
        self.theta = _shared_like(theta)
        """Written by the lead, while no peer computes."""
        self.theta.copy_(theta)
        self.gradients = [_shared_like(theta) for _ in range(peers - 1)]
        """That of peer k, from 1, at k - 1. Each is written by its peer, before it answers."""


def _shared_like(vector: Tensor) -> Tensor:
    if not vector.numel():
        return torch.empty_like(vector)
    return torch.frombuffer(mmap.mmap(-1, vector.numel() * vector.element_size()), dtype=vector.dtype)
