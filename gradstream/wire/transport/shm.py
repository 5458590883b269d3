"""The transport between processes of one host: a worker's vectors in shared memory.

Each incarnation of a worker has one file, made by it in a folder that its node's agent made:

| part    | written by | read by | when                                                       |
|---------|------------|---------|------------------------------------------------------------|
| out     | the worker | shards  | between the header of its push and the response to it        |
| centers | shards     | worker  | before the response that brings one; the worker waits for it |

So each part has one writer at a time, and the headers and responses that say whose turn it is go through the kernel: nothing can be
torn. There are two centers if a worker computes while its next one arrives (`pipeline: 1`). It may train in them: then
receiving one costs no copy, and an exchange is two copies and the update. An evaluator by time has two as well: its last center
comes unasked, when it may be scoring another. Each part has the model's buffers behind its vector.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Buffers, Payload, Response
from gradstream.spec import JobSpec
from gradstream.wire.gpu.memory import DeviceMemory, PinnedMemory
from gradstream.wire.transport.layout import Layout

_ALIGN = 64
"""Parts begin at the beginning of a cache line."""


class SharedMemoryError(Exception):
    """A file could not be allocated: its folder lies in memory, which is small here, or cannot be written to."""


@dataclass(frozen=True, slots=True)
class _Part:
    x: Tensor
    floats: Tensor
    ints: Tensor

    def put(self, buffers: Buffers | None) -> None:
        if buffers is not None:
            self.floats.copy_(buffers.floats)
            self.ints.copy_(buffers.ints)

    def buffers(self) -> Buffers | None:
        """A copy; None for a model without buffers."""
        some = self.floats.numel() + self.ints.numel()
        return Buffers(self.floats.clone(), self.ints.clone()) if some else None


class Shared:
    """One worker's vectors, mapped by the worker and by the shards on its host."""

    def __init__(self, memory: mmap.mmap, layout: Layout, centers: int) -> None:
        self._slices = layout.slices
        self._memory = torch.frombuffer(memory, dtype=torch.uint8)
        self._pinned: PinnedMemory | None = None
        size = _part_size(layout)
        self._centers = [_part(memory, layout, size * number) for number in range(centers)]
        self.centers = [center.x for center in self._centers]
        """Vectors for the shards' responses, each of shape (size,)."""
        self._out = _part(memory, layout, size * centers) if len(memory) > size * centers else None
        self.out = self._out.x if self._out else None
        """The worker's push, shape (size,). None, if it sends nothing, as an evaluator."""

    @classmethod
    def make(cls, folder: Path, rank: int, incarnation: int, layout: Layout, centers: int = 1) -> Shared:
        """Raises: SharedMemoryError."""
        file, size = vectors_file(folder, rank, incarnation), _file_size(rank, layout, centers)
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SharedMemoryError(f"{file} cannot be made: {error.strerror}") from error
        try:
            os.fchmod(handle, 0o666)  # shards may run under another account; the folder says who may enter
            os.posix_fallocate(handle, 0, size)  # so that no later write can fail for want of memory
            return cls(mmap.mmap(handle, size), layout, centers)
        except OSError as error:
            file.unlink()
            raise SharedMemoryError(f"{size / 1e6:.0f} MB cannot be allocated in {folder}: {error.strerror}") from error
        finally:
            os.close(handle)

    @classmethod
    def open(cls, folder: Path, rank: int, incarnation: int, layout: Layout, centers: int = 1) -> Shared:
        """Raises: OSError."""
        handle = os.open(vectors_file(folder, rank, incarnation), os.O_RDWR | os.O_CLOEXEC)
        try:
            return cls(mmap.mmap(handle, _file_size(rank, layout, centers)), layout, centers)
        finally:
            os.close(handle)

    def register(self, device: DeviceMemory) -> None:
        """Let the device that this process uses copy from and to this memory by itself."""
        self._pinned = device.register(self._memory)

    def unregister(self) -> None:
        """Call it before the memory is dropped, if it may be registered."""
        if self._pinned:
            self._pinned.end()

    def put_out(self, buffers: Buffers | None) -> None:
        """Put the buffers that travel with `out`, which the worker has filled."""
        assert self._out is not None, "whoever pushes has something to send from"
        self._out.put(buffers)

    def take_out(self, shard: int) -> Payload:
        """A shard's part of what the worker sends: the memory itself, valid until it is answered."""
        assert self._out is not None, "whoever pushes has something to send from"
        return Payload(self._out.x[self._slices[shard]], self._out.buffers() if shard == 0 else None)

    def center_slice(self, into: int, shard: int) -> Tensor:
        """A shard's part of a center."""
        return self.centers[into][self._slices[shard]]

    def put_center(self, into: int, shard: int, x: Tensor | None, buffers: Buffers | None) -> None:
        """A shard's part of a center; `x` is None if it lies there already."""
        if x is not None:
            self.center_slice(into, shard).copy_(x)
        self._centers[into].put(buffers)

    def center_buffers(self, into: int) -> Buffers | None:
        return self._centers[into].buffers()


def count_centers(spec: JobSpec, rank: int) -> int:
    """Return the centers of a worker or an evaluator."""
    return 1 + (spec.evaluate.cadence.by_time if rank == EVALUATOR else spec.pipeline)


def is_last_center(response: Response) -> bool:
    """Return whether an evaluator gets its last center, which belongs into the last of its centers."""
    return response.rank == EVALUATOR and response.outcome == "over"


def device_vectors_file(folder: Path, rank: int, incarnation: int) -> Path:
    """Return where a shard offers `DeviceVectors` to an incarnation."""
    return folder / f"{rank}.{incarnation}.device"


def vectors_file(folder: Path, rank: int, incarnation: int) -> Path:
    return folder / f"{rank}.{incarnation}"


def _file_size(rank: int, layout: Layout, centers: int) -> int:
    return (centers + (rank != EVALUATOR)) * _part_size(layout)


def _part(memory: mmap.mmap, layout: Layout, start: int) -> _Part:
    found = []
    for count, dtype in _contents(layout):
        empty = torch.empty(0, dtype=dtype)
        found.append(torch.frombuffer(memory, dtype=dtype, count=count, offset=start) if count else empty)
        start += _rounded(count * dtype.itemsize)
    return _Part(*found)


def _contents(layout: Layout) -> list[tuple[int, torch.dtype]]:
    return [(layout.size, layout.torch_dtype), (layout.floats, layout.floats_dtype), (layout.ints, torch.int64)]


def _part_size(layout: Layout) -> int:
    """Return bytes; some for a model of tables alone, too, as a file without any cannot be allocated or mapped."""
    return max(_ALIGN, sum(_rounded(count * dtype.itemsize) for count, dtype in _contents(layout)))


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ALIGN) * _ALIGN
