"""The shared memory of a job without servers: the vectors of all workers, the one center, and the entries beside each vector.

| file                | content                                                        | written by                        |
|---------------------|----------------------------------------------------------------|-----------------------------------|
| `<rank>.0`          | `out`: the worker's push                                       | the worker, before a turn         |
| `<rank>.0`          | the response to its push, if the strategy makes one             | every shard its slice, in a turn  |
| `0.0`               | the center of all                                              | every shard its slice, in a turn  |
| `<rank>.entries`    | the entries of the worker, of two turns by turns               | the worker, before a turn         |

A file of entries holds two turns: a worker may write those of its next turn while another still reads the last.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

import msgspec
from torch import Tensor

from gradstream.center.entries import Buffers, Payload
from gradstream.errors import PlaneLost
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.shm import Shared

ENTRY_BYTES = 1 << 20
"""Bytes for the entries of a turn: one or two headers. The largest have the places of a worker in many partitions."""
_LENGTH = struct.Struct("<I")


class TurnEntries(msgspec.Struct, frozen=True, array_like=True):
    """The packed headers of a worker in one turn."""

    entries: list[bytes]
    outside: list[bytes] = []
    """From worker 0: entries that others have written into the log."""

    @property
    def is_empty(self) -> bool:
        return not (self.entries or self.outside)


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(TurnEntries).decode


class TurnMemory:
    """`open_others` comes after all workers have made theirs."""

    def __init__(self, folder: Path, rank: int, layout: Layout, *, responses: bool) -> None:
        """`responses`: the strategy makes one for each push, beside the center. Raises: SharedMemoryError. OSError."""
        self._folder, self._rank, self._layout, self._responses = folder, rank, layout, responses
        mine = Shared.make(folder, rank, 0, layout, self._centers(rank))
        self._vectors = {rank: mine}
        self._entries = {rank: _make_entries(folder, rank)}
        assert mine.out is not None, "a worker has a vector to push from"
        self.out = mine.out
        """This worker's push, shape (size,)."""

    def open_others(self) -> None:
        """Map the memory of all others. Raises: OSError."""
        for rank in range(self._layout.servers):
            if rank != self._rank:
                self._vectors[rank] = Shared.open(self._folder, rank, 0, self._layout, self._centers(rank))
                self._entries[rank] = _open_entries(self._folder, rank)

    def _centers(self, rank: int) -> int:
        return (rank == 0) + self._responses

    @property
    def center(self) -> Tensor:
        """The center of all, shape (size,)."""
        return self._vectors[0].centers[0]

    def put_out(self, buffers: Buffers | None) -> None:
        """Put the buffers that travel with `out`, which the worker has filled."""
        self._vectors[self._rank].put_out(buffers)

    def take_out(self, rank: int) -> Payload:
        """Return this shard's part of a worker's push: the memory itself."""
        return self._vectors[rank].take_out(self._rank)

    def center_slice(self) -> Tensor:
        """Return this shard's part of the center."""
        return self._vectors[0].center_slice(0, self._rank)

    def put_center(self, x: Tensor | None, buffers: Buffers | None) -> None:
        """Put this shard's part of the center; `x` is None if it lies there already."""
        self._vectors[0].put_center(0, self._rank, x, buffers)

    def put_response(self, rank: int, x: Tensor, buffers: Buffers | None) -> None:
        """Put this shard's part of the response to a worker."""
        self._vectors[rank].put_center(int(rank == 0), self._rank, x, buffers)

    def taken_center(self) -> Payload:
        """Return the center, with a copy of its buffers."""
        return Payload(self.center, self._vectors[0].center_buffers(0))

    def taken_response(self) -> Payload:
        """Return the response to this worker."""
        mine, at = self._vectors[self._rank], int(self._rank == 0)
        return Payload(mine.centers[at], mine.center_buffers(at))

    def write_entries(self, turn: int, given: TurnEntries) -> None:
        """Raises: PlaneLost: it is too long."""
        packed = _encode(given)
        if len(packed) > ENTRY_BYTES - _LENGTH.size:
            raise PlaneLost(f"the entries of worker {self._rank} take {len(packed):,} bytes; {ENTRY_BYTES:,} lie beside its vector")
        start = turn % 2 * ENTRY_BYTES
        memory = self._entries[self._rank]
        _LENGTH.pack_into(memory, start, len(packed))
        memory[start + _LENGTH.size : start + _LENGTH.size + len(packed)] = packed

    def read_entries(self, turn: int, rank: int) -> TurnEntries:
        start = turn % 2 * ENTRY_BYTES
        memory = self._entries[rank]
        [length] = _LENGTH.unpack_from(memory, start)
        try:
            return _decode(memory[start + _LENGTH.size : start + _LENGTH.size + length])
        except msgspec.DecodeError as error:
            raise PlaneLost(f"the entries of worker {rank} cannot be read: something else has written into it ({error})") from error


def _make_entries(folder: Path, rank: int) -> mmap.mmap:
    handle = os.open(folder / f"{rank}.entries", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(handle, 0o666)  # workers may have accounts of their own; the folder says who may enter
        os.posix_fallocate(handle, 0, 2 * ENTRY_BYTES)
        return mmap.mmap(handle, 2 * ENTRY_BYTES)
    finally:
        os.close(handle)


def _open_entries(folder: Path, rank: int) -> mmap.mmap:
    handle = os.open(folder / f"{rank}.entries", os.O_RDWR | os.O_CLOEXEC)
    try:
        return mmap.mmap(handle, 2 * ENTRY_BYTES)
    finally:
        os.close(handle)
