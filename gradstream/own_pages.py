"""Long vectors in pages of their own: those that stay, and copies that go, for checkpoints and evaluations.

Job processes keep the memory that they free (`gradstream.process.begin`). A vector that lies between others leaves a hole there,
into which glibc puts no other vector of that length, as it asks for some bytes more to align it."""

from __future__ import annotations

import contextlib
import mmap

import torch
from torch import Tensor

_CPU = torch.device("cpu")
_LARGE = 1 << 20
"""Bytes from which on a vector has pages of its own."""


def own_memory(nbytes: int) -> memoryview:
    """Return writable zeros, whose pages go back to the kernel when they are dropped."""
    if nbytes < _LARGE:
        return memoryview(bytearray(nbytes))
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # the kernel has none; with them a copy takes a third of the time
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)


def own_empty(size: int, dtype: torch.dtype, device: torch.device = _CPU) -> Tensor:
    """Return a vector in such memory, with any values; on another device than the CPU, a plain one."""
    nbytes = size * dtype.itemsize
    if device.type != "cpu" or nbytes < _LARGE:
        return torch.empty(size, dtype=dtype, device=device)
    return torch.frombuffer(own_memory(nbytes), dtype=dtype)


def own_empty_like(x: Tensor) -> Tensor:
    """Return a tensor like `x` in such memory, with any values."""
    return own_empty(x.numel(), x.dtype, x.device).view(x.shape)


def own_copy(x: Tensor) -> Tensor:
    """Return a copy of `x` in such memory."""
    return own_empty_like(x).copy_(x)
