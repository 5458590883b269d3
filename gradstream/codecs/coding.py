"""Vectors in a codec, chunk by chunk: encoded as far as their bytes are needed, decoded as far as their bytes have arrived.

Error feedback is part of coding: a chunk carries the residual of earlier pushes, and leaves its own error as the new residual.
The sent vector and the residual add up to the full one, but for the rounding of one addition and one subtraction.
Source: Seide et al. 2014; Karimireddy et al. 2019, "Error Feedback Fixes SignSGD".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from gradstream.codecs.base import CHUNK, Codec
from gradstream.codecs.blocks import padded, put_back, rows


class Residual:
    """The part of a worker's pushes that a lossy codec has not sent yet."""

    def __init__(self, x: Tensor, *, keeps: bool = False) -> None:
        """`keeps`: pushes may turn out not to count."""
        self.x = x
        """Shape (size,)."""
        self._before = torch.zeros_like(x) if keeps else None
        """`x` before the push that was coded last."""
        self._squares = 0.0

    def take_back(self) -> None:
        """Restore the residual from before the last push, which does not count: its part must still be sent."""
        assert self._before is not None, "whoever takes back has said so before"
        self.x.copy_(self._before)

    def norm(self) -> float:
        """Return the L2 norm of the last push's residual, and reset it."""
        squares, self._squares = self._squares, 0.0
        return math.sqrt(squares)

    def feed(self, codec: Codec, x: Tensor, start: int, data: Tensor, out: Tensor) -> None:
        """Encode a chunk `x`, a push's elements from `start` on, plus their residual. `out` gets the decoded chunk; may be `x`."""
        left = self.x[start : start + x.numel()]
        if self._before is not None:
            self._before[start : start + x.numel()].copy_(left)
        left.add_(x)
        _encode(codec, left, data)
        _decode(codec, data, out)
        left.sub_(out)
        self._squares += float(torch.dot(left, left))


class Coding:
    """A vector that becomes bytes, from the first on."""

    def __init__(self, codec: Codec, x: Tensor, data: memoryview, residual: Residual | None = None, start: int = 0) -> None:
        """`x`, shape (n,), on the CPU, must not change before all of it is coded. `data`: writable, as long as what `codec` makes
        of it. `residual`: of a vector of which `x` is a slice that begins at `start`."""
        self._codec, self._x, self._residual, self._start = codec, x, residual, start
        self._data = _bytes(data)
        self._chunks = codec.chunks(x.numel(), x.element_size())
        self._done = 0
        """Bytes that are final."""

    def until(self, end: int) -> None:
        """Make the first `end` bytes final."""
        while self._done < end and (chunk := next(self._chunks, None)):
            elements, place = chunk
            x, data = self._x[elements], self._data[place]
            if self._residual:
                self._residual.feed(self._codec, x, self._start + elements.start, data, torch.empty_like(x))
            else:
                _encode(self._codec, x, data)
            self._done = place.stop


class Decoding:
    """Bytes that become a vector again, from the first on."""

    def __init__(self, codec: Codec, data: bytearray | memoryview, out: Tensor) -> None:
        self._codec, self._data, self.out = codec, _bytes(data), out
        self._chunks: Iterator[tuple[slice, slice]]
        self._next: tuple[slice, slice] | None
        self.again()

    def again(self) -> None:
        """Some of the bytes have changed: begin again."""
        self._chunks = self._codec.chunks(self.out.numel(), self.out.element_size())
        self._next = next(self._chunks, None)

    def until(self, end: int) -> None:
        """The first `end` bytes are there."""
        while self._next and self._next[1].stop <= end:
            elements, place = self._next
            _decode(self._codec, self._data[place], self.out[elements])
            self._next = next(self._chunks, None)


def carry(codec: Codec, x: Tensor, out: Tensor, residual: Residual | None = None, start: int = 0) -> None:
    """`out`, shape (n,), becomes what arrives of `x`; it may be `x` itself. `residual`, `start`: see `Coding`."""
    data = torch.empty(codec.nbytes(min(CHUNK, x.numel()), x.element_size()), dtype=torch.uint8)
    for elements, place in codec.chunks(x.numel(), x.element_size()):
        mine = data[: place.stop - place.start]
        if residual:
            residual.feed(codec, x[elements], start + elements.start, mine, out[elements])
        else:
            _encode(codec, x[elements], mine)
            _decode(codec, mine, out[elements])


def _encode(codec: Codec, x: Tensor, data: Tensor) -> None:
    codec.encode_rows(rows(x, codec.block), data, x.numel())


def _decode(codec: Codec, data: Tensor, out: Tensor) -> None:
    """Straight into `out`, if it consists of whole blocks of float32."""
    values = padded(out, codec.block)
    codec.decode_rows(data, values)
    put_back(values, out)


def _bytes(data: bytearray | memoryview) -> Tensor:
    return torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
