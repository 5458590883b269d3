"""The byte layout of a model's vector: a slice for each shard, and the buffers behind the slice of shard 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Payload
from gradstream.center.parameters.buffers import float_buffer_dtype
from gradstream.center.parameters.slices import slices_for
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Coding, Decoding, Residual
from gradstream.optim.parameters import ParameterShape, pieces, read_shapes
from gradstream.optim.spec import Sees

DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Coded(NamedTuple):
    """The bytes of one shard's part."""

    data: memoryview
    until: Callable[[int], None] = lambda end: None
    """Makes the first `end` bytes final."""


@dataclass(frozen=True)
class Layout:
    size: int
    """Trainable parameters."""
    dtype: str
    floats: int
    ints: int
    """Values in float and in integer buffers; both 0 without buffers."""
    servers: int
    parameters: tuple[ParameterShape, ...] = ()
    """Those in the vector, in order. Empty: not known, as in a checkpoint of an older version."""
    sees: Sees = "element"
    """Knowledge that the servers' optimizer needs of an element: it decides where the vector may be cut."""

    @classmethod
    def of(
        cls,
        theta: Tensor,
        buffers: Buffers | None,
        servers: int,
        parameters: tuple[ParameterShape, ...] = (),
        sees: Sees = "element",
    ) -> Layout:
        """Return the layout of a model with this vector, these buffers and these parameters."""
        floats, ints = (buffers.floats.numel(), buffers.ints.numel()) if buffers else (0, 0)
        return cls(theta.numel(), str(theta.dtype).removeprefix("torch."), floats, ints, servers, parameters, sees)

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Layout:
        """Return the layout from the result of `as_dict`, which JSON or a file has kept."""
        return cls(**(saved | {"parameters": read_shapes(saved.get("parameters", ()))}))

    def as_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def slices(self) -> list[slice]:
        return slices_for(self.sees, self.parameters, self.size, self.servers)

    def pieces(self, shard: int) -> tuple[ParameterShape, ...]:
        """Return the parameters, and parts of them, in a shard's slice."""
        return pieces(self.parameters, self.slices[shard])

    @property
    def torch_dtype(self) -> torch.dtype:
        return DTYPES[self.dtype]

    @property
    def floats_dtype(self) -> torch.dtype:
        return float_buffer_dtype(self.torch_dtype)

    @property
    def _floats_bytes(self) -> int:
        return self.floats_dtype.itemsize * self.floats

    def nbytes(self, shard: int) -> int:
        """Return the bytes of a shard's part without a codec."""
        mine = self.slices[shard]
        return int(self.torch_dtype.itemsize * (mine.stop - mine.start)) + self._piggyback_bytes(shard)

    def _piggyback_bytes(self, shard: int) -> int:
        """Return the bytes of buffers behind a shard's slice."""
        return self._floats_bytes + 8 * self.ints if shard == 0 else 0

    def coded(self, codec: Codec, shard: int) -> int:
        """Return the bytes of a shard's part as `encode` gives it."""
        mine = self.slices[shard]
        return codec.nbytes(mine.stop - mine.start, self.torch_dtype.itemsize) + self._piggyback_bytes(shard)

    def vector(self) -> Tensor:
        """Return a new vector for the whole model, shape (size,)."""
        return torch.empty(self.size, dtype=self.torch_dtype)

    def encode(self, codec: Codec, part: Payload) -> memoryview:
        """Return the bytes of one shard's part; they may be a view of the part."""
        data = codec.encode(part.x)
        if part.buffers is None:
            return data
        whole = bytearray(data)
        for values in part.buffers:
            whole += values.view(torch.uint8).numpy().data
        return memoryview(whole)

    def coding(self, codec: Codec, part: Payload, shard: int, out: memoryview, residual: Residual | None = None) -> Coded:
        """Encode into `out`, which has `coded` bytes, only as far as the caller asks. `residual`: see `Coding`."""
        vector = len(out) - self._piggyback_bytes(shard)
        at = vector
        for values in part.buffers or ():
            out[at : at + values.nbytes] = values.view(torch.uint8).numpy().data
            at += values.nbytes
        return Coded(out, Coding(codec, part.x, out[:vector], residual, self.slices[shard].start).until)

    def decoding(self, codec: Codec, data: bytearray | memoryview, shard: int, out: Tensor) -> Decoding:
        """Return the decoding of the vector in `data`, which `encode` made."""
        return Decoding(codec, memoryview(data)[: len(data) - self._piggyback_bytes(shard)], out)

    def buffers(self, data: bytearray | memoryview, shard: int) -> Buffers | None:
        """Return a copy of the buffers behind the vector; None on other shards than 0."""
        return self._buffers(data) if shard == 0 else None

    def decode(self, codec: Codec, data: bytearray | memoryview, shard: int, out: Tensor) -> Payload:
        """Decode `data`, which `encode` made, into `out` (this shard's slice)."""
        if shard > 0 or not self.floats + self.ints:
            codec.decode(data, out)
            return Payload(out)
        codec.decode(data[: len(data) - self._piggyback_bytes(shard)], out)
        return Payload(out, self._buffers(data))

    def view(self, data: bytearray | memoryview, shard: int) -> Payload:
        """Read `data`, which `encode` made with a lossless codec: the vector is a view of the bytes."""
        mine = self.slices[shard]
        size = mine.stop - mine.start
        x = torch.frombuffer(data, dtype=self.torch_dtype, count=size) if size else torch.empty(0, dtype=self.torch_dtype)
        return Payload(x, self._buffers(data) if shard == 0 else None)

    def part(self, whole: Payload, shard: int) -> Payload:
        """Return a shard's part of a whole model's payload."""
        return Payload(whole.x[self.slices[shard]], whole.buffers if shard == 0 else None)

    def _buffers(self, data: bytearray | memoryview) -> Buffers | None:
        """Return a copy of the buffers at the end of shard 0's part."""
        if not self.floats + self.ints:
            return None
        ints_at = len(data) - 8 * self.ints
        floats_at = ints_at - self._floats_bytes
        return Buffers(_values(data[floats_at:ints_at], self.floats_dtype), _values(data[ints_at:], torch.int64))


def _values(data: bytearray | memoryview, dtype: torch.dtype) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)


def reused(buffers: dict[int, bytearray], number: int, nbytes: int) -> bytearray:
    """Return the same buffer each time: the first touch of new pages costs more than coding does."""
    if number not in buffers or len(buffers[number]) != nbytes:
        buffers[number] = bytearray(nbytes)
    return buffers[number]
