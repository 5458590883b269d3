"""What a codec is: how a vector becomes bytes on the wire and a vector again.

A codec is a pure function of the vector, block by block: so slices that begin at multiples of 4,096 elements have the bytes
that they would have in the whole vector, and any number of shards gives the same bits. What a lossy codec takes away from a
push is not lost: the worker adds it to its next one (error feedback, `gradstream.worker.link`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from torch import Tensor


class Codec(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    block: ClassVar[int] = 1
    """Elements that are coded together; divides 4,096."""
    lossy: ClassVar[bool] = True
    """decode(encode(x)) may differ from x."""
    dense: ClassVar[bool] = True
    """Every element arrives, with a relative error; else most arrive as 0 or as a mean, which only error feedback makes good."""

    def encode(self, x: Tensor) -> memoryview:
        """The bytes of `x`, shape (n,), on the CPU. May be a view of `x`: it is valid until `x` changes."""
        raise NotImplementedError

    def decode(self, data: bytearray, out: Tensor) -> None:
        """Write the vector that `data` stands for into `out`, shape (n,)."""
        raise NotImplementedError

    def nbytes(self, n: int, itemsize: int) -> int:
        """The length of what `encode` gives for a vector of n elements of so many bytes."""
        raise NotImplementedError

    def arrives(self, x: Tensor) -> Tensor:
        """What the other side will hold: decode(encode(x)); `x` itself if nothing is lost."""
        import torch

        if not self.lossy:
            return x
        out = torch.empty_like(x)
        self.decode(bytearray(self.encode(x)), out)
        return out
