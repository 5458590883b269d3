"""The largest values of each block, with their places; the rest waits in the worker until it is large enough.

Bytes: 6 per value that is kept.  Error: the values that are not kept.
By blocks of 4,096 instead of over the whole vector, so that shards need not know of each other, and no layer is silent for ever.
Source: Aji, Heafield 2017, "Sparse Communication for Distributed Gradient Descent".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class TopK(Codec, frozen=True):
    """Top-k: only the largest values of each block."""

    name: Literal["topk"] = "topk"
    block: ClassVar[int] = 4096
    dense: ClassVar[bool] = False
    share: float = Field(0.01, gt=0, le=1, description="Share of the values that travels")

    @property
    def _kept(self) -> int:
        return math.ceil(self.share * self.block)

    def encode(self, x: Tensor) -> memoryview:
        import torch

        from gradstream.codecs.blocks import joined, rows

        values = rows(x, self.block)
        places = values.abs().topk(self._kept, sorted=False).indices.sort().values
        return joined(values.gather(1, places), places.to(torch.uint16))

    def decode(self, data: bytearray, out: Tensor) -> None:
        import torch

        from gradstream.codecs.blocks import count, fill, split

        kept = count(out.numel(), self.block) * self._kept
        values, places = split(data, (torch.float32, kept), (torch.uint16, kept))
        whole = torch.zeros(count(out.numel(), self.block), self.block)
        whole.scatter_(1, places.to(torch.int64).view(-1, self._kept), values.view(-1, self._kept))
        fill(out, whole)

    def nbytes(self, n: int, itemsize: int) -> int:
        from gradstream.codecs.blocks import count

        return count(n, self.block) * self._kept * 6
