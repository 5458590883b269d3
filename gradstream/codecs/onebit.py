"""One bit per value: its sign. Each block says what its positive and what its negative values are on average.

Bytes: n/8 + 8 per block of 4,096.  Error: |x - mean of its side|; a block keeps its sum.
Source: Seide, Fu, Droppo, Li, Yu 2014, "1-Bit Stochastic Gradient Descent".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class OneBit(Codec, frozen=True):
    """1-bit SGD: signs, and two means for each block."""

    name: Literal["onebit"] = "onebit"
    block: ClassVar[int] = 4096
    dense: ClassVar[bool] = False

    def encode(self, x: Tensor) -> memoryview:
        import numpy
        import torch

        from gradstream.codecs.blocks import joined, rows

        values = rows(x, self.block)
        inside = rows(torch.ones_like(x), self.block) > 0
        above = (values >= 0) & inside
        below = ~above & inside
        means = torch.stack([(values * side).sum(1) / side.sum(1).clamp_min(1) for side in (above, below)], 1)
        return joined(means, torch.from_numpy(numpy.packbits(above.numpy())))

    def decode(self, data: bytearray, out: Tensor) -> None:
        import numpy
        import torch

        from gradstream.codecs.blocks import count, fill, split

        blocks = count(out.numel(), self.block)
        means, bits = split(data, (torch.float32, 2 * blocks), (torch.uint8, blocks * self.block // 8))
        above = torch.from_numpy(numpy.unpackbits(bits.numpy())).view(-1, self.block).bool()
        high, low = means.view(-1, 2)[:, :1], means.view(-1, 2)[:, 1:]
        fill(out, torch.where(above, high, low))

    def nbytes(self, n: int, itemsize: int) -> int:
        from gradstream.codecs.blocks import count

        return count(n, self.block) * (8 + self.block // 8)
