"""The transport between processes of one host: a worker's vectors in shared memory.

Each life of a worker has one file, made by it in a folder that its node's agent made:

| part   | written by | read by | when                                                       |
|--------|------------|---------|------------------------------------------------------------|
| out    | the worker | shards  | between the header of its push and the answer to it        |
| center | shards     | worker  | before the letter that brings it; the worker waits for that |

So each part has one writer at a time, and the letters and headers that say whose turn it is travel through Redis: nothing
can be torn. An exchange costs two copies and the update itself. Both parts have the model's buffers behind the vector.
"""

from __future__ import annotations

import logging
import mmap
import os
from pathlib import Path

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Payload
from gradstream.wire.layout import Layout

log = logging.getLogger(__name__)

_ALIGN = 64
"""Parts begin at the beginning of a cache line."""


class Shared:
    """One worker's vectors, mapped by the worker and by the shards on its host."""

    def __init__(self, memory: mmap.mmap, layout: Layout) -> None:
        half = len(memory) // 2
        self._memory, self._layout = memory, layout
        self.out, self._out_floats, self._out_ints = self._tensors(0)
        self.center, self._center_floats, self._center_ints = self._tensors(half)

    @classmethod
    def make(cls, folder: Path, rank: int, incarnation: int, layout: Layout) -> Shared | None:
        """None if there is no room for it: the folder lies in memory, and may be small."""
        file, size = _file(folder, rank, incarnation), 2 * _part_size(layout)
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            log.warning("no shared memory, so vectors go through Redis: %s", error)
            return None
        try:
            os.posix_fallocate(handle, 0, size)  # so that no later write can fail for want of room
            return cls(mmap.mmap(handle, size), layout)
        except OSError as error:
            file.unlink()
            log.warning("no %.0f MB of shared memory in %s, so vectors go through Redis: %s", size / 1e6, folder, error)
            return None
        finally:
            os.close(handle)

    @classmethod
    def open(cls, folder: Path, rank: int, incarnation: int, layout: Layout) -> Shared:
        """Raises: OSError."""
        handle = os.open(_file(folder, rank, incarnation), os.O_RDWR | os.O_CLOEXEC)
        try:
            return cls(mmap.mmap(handle, 2 * _part_size(layout)), layout)
        finally:
            os.close(handle)

    def put_out(self, buffers: Buffers | None) -> None:
        """What travels with `out`, which the worker has filled."""
        _put(buffers, self._out_floats, self._out_ints)

    def take_out(self, shard: int) -> Payload:
        """A shard's part of what the worker sends: the memory itself, valid until it is answered."""
        buffers = Buffers(self._out_floats.clone(), self._out_ints.clone()) if shard == 0 and self._has_buffers else None
        return Payload(self.out[self._layout.slices[shard]], buffers)

    def put_center(self, shard: int, part: Payload) -> None:
        self.center[self._layout.slices[shard]].copy_(part.x)
        _put(part.buffers, self._center_floats, self._center_ints)

    def center_buffers(self) -> Buffers | None:
        return Buffers(self._center_floats.clone(), self._center_ints.clone()) if self._has_buffers else None

    @property
    def _has_buffers(self) -> bool:
        return self._layout.floats + self._layout.ints > 0

    def _tensors(self, start: int) -> tuple[Tensor, Tensor, Tensor]:
        found = []
        for count, dtype in _contents(self._layout):
            empty = torch.empty(0, dtype=dtype)
            found.append(torch.frombuffer(self._memory, dtype=dtype, count=count, offset=start) if count else empty)
            start += _rounded(count * dtype.itemsize)
        x, floats, ints = found
        return x, floats, ints


def _put(buffers: Buffers | None, floats: Tensor, ints: Tensor) -> None:
    if buffers is not None:
        floats.copy_(buffers.floats)
        ints.copy_(buffers.ints)


def _file(folder: Path, rank: int, incarnation: int) -> Path:
    return folder / f"{rank}.{incarnation}"


def _contents(layout: Layout) -> list[tuple[int, torch.dtype]]:
    return [(layout.size, layout.torch_dtype), (layout.floats, layout.torch_dtype), (layout.ints, torch.int64)]


def _part_size(layout: Layout) -> int:
    return sum(_rounded(count * dtype.itemsize) for count, dtype in _contents(layout))


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ALIGN) * _ALIGN
