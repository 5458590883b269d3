"""The memory that the processes of a group share: one theta, and vectors like it for gradients.

It belongs to no file. The peers inherit it when the lead forks them, so it goes with the last of them, however they end.
"""

from __future__ import annotations

import mmap

import torch
from torch import Tensor


class GroupMemory:
    def __init__(self, theta: Tensor, vectors: int) -> None:
        """`theta`: a `shared_vector`. `vectors`: how many are wanted beside it. Raises: OSError: there is no memory."""
        self.theta = theta
        """Written while no peer computes."""
        self.vectors = [shared_vector(theta.numel(), theta.dtype) for _ in range(vectors)]


def shared_vector(size: int, dtype: torch.dtype) -> Tensor:
    """Return a vector of zeros that processes see which are forked later. Its pages take memory when they are first written.
    Raises: OSError: there is no memory."""
    return torch.frombuffer(mmap.mmap(-1, size * dtype.itemsize), dtype=dtype) if size else torch.empty(0, dtype=dtype)
