"""A worker's vectors in the memory of the GPU on which its only shard computes, too: no vector leaves the GPU.

The shard makes them, since memory whose maker has died is undefined, and the death of a shard ends the attempt anyway. It
offers them by a file beside the worker's shared memory (`gradstream.wire.transport.shm`). As there, each part has one writer at a
time, and headers and responses say whose turn it is. Here a process also waits for its copies before it gives its turn away. The
model's buffers stay in shared memory.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor

from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.gpu.share import DeviceMemoryError

_ALIGN = 256
"""Bytes."""


class DeviceVectors:
    def __init__(self, memory: Tensor, size: int, dtype: torch.dtype, centers: int) -> None:
        """`memory`: as much as `make` allocates. `size`, `dtype`: of each vector. `centers`: how many it holds."""
        nbytes, step = size * dtype.itemsize, _step(size, dtype)
        vectors = [memory[k * step : k * step + nbytes].view(dtype) for k in range(centers + 1)]
        self.centers = vectors[:-1]
        """Vectors for the shard's responses, each of shape (size,)."""
        self.out = vectors[-1]
        """The worker's push, shape (size,)."""

    @classmethod
    def offer(cls, file: Path, size: int, dtype: torch.dtype, centers: int, device: DeviceMemory) -> DeviceVectors:
        """Make the vectors, and let their worker find them by this file. Raises: DeviceMemoryError."""
        memory, handle = device.allocate((centers + 1) * _step(size, dtype))
        unfinished = file.with_name(f".{file.name}")
        try:
            unfinished.write_bytes(handle)
            os.chmod(unfinished, 0o644)  # workers may run under another account; the folder says who may enter
            unfinished.rename(file)
        except OSError as error:
            raise DeviceMemoryError(f"{file} cannot be written: {error.strerror}") from error
        return cls(memory, size, dtype, centers)

    @classmethod
    def find(cls, file: Path, size: int, dtype: torch.dtype, centers: int, device: DeviceMemory) -> DeviceVectors | None:
        """Open the vectors, if the shard offers some. Raises: DeviceMemoryError."""
        try:
            handle = file.read_bytes()
        except FileNotFoundError:
            return None
        return cls(device.open(handle, (centers + 1) * _step(size, dtype)), size, dtype, centers)


def _step(size: int, dtype: torch.dtype) -> int:
    """Return the bytes from one vector to the next one."""
    return max(1, -(-size * dtype.itemsize // _ALIGN)) * _ALIGN
