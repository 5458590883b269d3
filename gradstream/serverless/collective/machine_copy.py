"""Copies of the shard machine: one that shares all vectors, to rehearse a turn, and one for a worker that joins later."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.center.parameters.center import Center
from gradstream.center.shard import Shard
from gradstream.spec import JobSpec
from gradstream.wire.transport.layout import Layout

_SPEC, _CENTER = "spec", "center"
"""Stand for what each process has by itself, and for the one center."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.vectors: list[Tensor] = []

    def persistent_id(self, value: object) -> object:
        if isinstance(value, Tensor):
            self.vectors.append(value)
            return len(self.vectors) - 1
        return _SPEC if isinstance(value, JobSpec) else _CENTER if isinstance(value, Center) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: bytes, found: Callable[[Any], object]) -> None:
        super().__init__(io.BytesIO(packed))
        self._found = found

    def persistent_load(self, name: Any) -> object:
        return self._found(name)


def _pack(value: object) -> tuple[bytes, list[Tensor]]:
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.vectors


def rehearsing_copy(shard: Shard) -> Shard:
    """Return a machine that decides as `shard` does, and shares its vectors: let it close no round."""
    packed, vectors = _pack(shard)
    center = copy.copy(shard.center)
    if center:
        center.buffers = center.buffers and center.buffers.copy()
    copied = _unpack_shard(packed, vectors, shard.spec, center)
    copied._state_of_checkpoint = dict  # type: ignore[assignment]  # else it would copy the vectors
    return copied


class PackedShard(NamedTuple):
    """A shard without embedding tables, for `unpack_shard`."""

    machine: bytes
    center: bytes
    vectors: list[Tensor]
    """Those of the machine, then those of the center."""
    first_of_center: int


def pack_shard(shard: Shard) -> PackedShard:
    machine, vectors = _pack(shard)
    center, more = _pack(shard.center and shard.center.state())
    return PackedShard(machine, center, vectors + more, len(vectors))


def unpack_shard(packed: PackedShard, spec: JobSpec, layout: Layout) -> Shard:
    """`packed` comes from where this attempt alone may write."""
    state = _Unpickler(packed.center, lambda number: packed.vectors[packed.first_of_center + number]).load()
    center = Center.load(spec, state, torch.device("cpu"), parameters=layout.pieces(0)) if state else None
    return _unpack_shard(packed.machine, packed.vectors, spec, center)


def _unpack_shard(packed: bytes, vectors: list[Tensor], spec: JobSpec, center: Center | None) -> Shard:
    named = {_SPEC: spec, _CENTER: center}
    shard: Shard = _Unpickler(packed, lambda name: vectors[name] if isinstance(name, int) else named[name]).load()
    return shard
