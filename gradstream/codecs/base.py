"""The base of codecs. A codec encodes a vector as bytes for the wire and decodes them.

A codec is a pure function of the vector, block by block. So slices that begin at multiples of 4,096 elements have the bytes
that they would have in the whole vector, and any number of shards gives the same bits. The bytes of a vector are those of its
chunks, one behind another. A chunk is small enough to stay in the cache while a codec goes over it several times, and coded
chunks can travel while the codec works on the rest. The error of a lossy codec is not lost: the worker adds it to its next
push (error feedback, `gradstream.codecs.coding`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from gradstream.bounds import BoundedPart

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 64 * 1024
"""Elements that are coded at once; a multiple of every block."""


def count(n: int, block: int) -> int:
    """Return the number of blocks of a vector of n elements."""
    return -(-n // block)


class Codec(BoundedPart, frozen=True):
    block: ClassVar[int] = 1
    """Elements that are coded together; divides 4,096."""
    lossy: ClassVar[bool] = True
    """decode(encode(x)) may differ from x."""
    dense: ClassVar[bool] = True
    """Every element arrives, with a relative error; else most arrive as 0 or as a mean, which only error feedback corrects."""

    def nbytes(self, n: int, itemsize: int) -> int:
        """Return the length of the result of `encode` for a vector of n elements of `itemsize` bytes."""
        raise NotImplementedError

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        """Code one chunk into `data`, bytes. `rows`: float32, shape (blocks, block), n elements with zeros behind them."""
        raise NotImplementedError

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        """Decode `data` from `encode_rows` into `rows`."""
        raise NotImplementedError

    def chunks(self, n: int, itemsize: int) -> Iterator[tuple[slice, slice]]:
        """Yield for each chunk of a vector of n elements the range of its elements and of its bytes."""
        at = 0
        for first in range(0, n, CHUNK):
            elements = slice(first, min(n, first + CHUNK))
            nbytes = self.nbytes(elements.stop - first, itemsize)
            yield elements, slice(at, at + nbytes)
            at += nbytes

    def encode(self, x: Tensor) -> memoryview:
        """Return the bytes of `x`, shape (n,), on the CPU. They may be a view of `x`, valid until `x` changes."""
        from gradstream.codecs.coding import Coding

        data = memoryview(bytearray(self.nbytes(x.numel(), x.element_size())))
        Coding(self, x, data).until(len(data))
        return data

    def decode(self, data: bytearray | memoryview, out: Tensor) -> None:
        """Decode `data` into `out`, shape (n,)."""
        from gradstream.codecs.coding import Decoding

        Decoding(self, data, out).until(len(data))

    def arrives(self, x: Tensor) -> Tensor:
        """Return the vector that the other side will hold: decode(encode(x)); `x` itself if the codec is lossless."""
        import torch

        from gradstream.codecs.coding import carry

        if not self.lossy:
            return x
        out = torch.empty_like(x)
        carry(self, x, out)
        return out
