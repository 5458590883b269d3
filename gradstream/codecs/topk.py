"""The largest values of each block, with their places; the rest waits in the worker until it is large enough.

Bytes: 6 per value that is kept.  Error: the values that are not kept. Among equal values the first are kept.
By blocks of 4,096 instead of over the whole vector, so that shards need not know of each other, and no layer is silent for ever.
Source: Aji, Heafield 2017, "Sparse Communication for Distributed Gradient Descent".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gradstream.codecs.base import Codec, count

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    Bools = np.ndarray[tuple[int, int], np.dtype[np.bool_]]


class TopK(Codec, frozen=True):
    """Top-k: only the largest values of each block."""

    name: Literal["topk"] = "topk"
    block: ClassVar[int] = 4096
    dense: ClassVar[bool] = False
    share: float = Field(0.01, gt=0, le=1, description="Share of the values that is sent")

    @property
    def _kept(self) -> int:
        return math.ceil(self.share * self.block)

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        import numpy
        import torch

        values, places = self._split(data, len(rows))
        sizes = (rows.view(torch.int32) & 0x7FFFFFFF).numpy()  # as whole numbers, which sort as their values do
        least = numpy.partition(sizes, self.block - self._kept, axis=1)[:, self.block - self._kept, None]
        chosen = sizes >= least
        found = numpy.flatnonzero(chosen)
        if len(found) > values.numel():
            _drop_last_of_equals(chosen, sizes == least, self._kept)
            found = numpy.flatnonzero(chosen)
        torch.index_select(rows.view(-1), 0, torch.from_numpy(found), out=values)
        numpy.copyto(places.numpy(), found % self.block, casting="unsafe")

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        import torch

        values, places = self._split(data, len(rows))
        rows.zero_().scatter_(1, places.to(torch.int64).view(len(rows), -1), values.view(len(rows), -1))

    def _split(self, data: Tensor, blocks: int) -> list[Tensor]:
        import torch

        from gradstream.codecs.blocks import split

        return split(data, (torch.float32, blocks * self._kept), (torch.uint16, blocks * self._kept))

    def nbytes(self, n: int, itemsize: int) -> int:
        return count(n, self.block) * self._kept * 6


def _drop_last_of_equals(chosen: Bools, equal: Bools, kept: int) -> None:
    """Drop the last of the values that equal the least one kept, in blocks where such ties make too many chosen."""
    import numpy

    missing = kept - (chosen & ~equal).sum(1)
    chosen &= ~equal | (numpy.cumsum(equal, axis=1) <= missing[:, None])
