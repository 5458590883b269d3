"""One bit per value: its sign. Each block says what its positive and what its negative values are on average.

Bytes: n/8 + 8 per block of 4,096.  Error: |x - mean of its side|; a block keeps its sum.
The second mean travels as its distance from the first, so decoding is one multiplication and one addition.
Source: Seide, Fu, Droppo, Li, Yu 2014, "1-Bit Stochastic Gradient Descent".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec, count

if TYPE_CHECKING:
    from torch import Tensor


class OneBit(Codec, frozen=True):
    """1-bit SGD: signs, and two means for each block."""

    name: Literal["onebit"] = "onebit"
    block: ClassVar[int] = 4096
    dense: ClassVar[bool] = False

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        import numpy
        import torch

        from gradstream.codecs.blocks import split

        means, bits = split(data, (torch.float32, 2 * len(rows)), (torch.uint8, rows.numel() // 8))
        packed = numpy.packbits(numpy.greater_equal(rows.numpy(), 0).reshape(-1))
        numpy.copyto(bits.numpy(), packed)
        above = numpy.bitwise_count(packed.view(numpy.uint64)).reshape(len(rows), -1).sum(1, dtype=numpy.float32)
        below = self.block - above
        above[-1] -= rows.numel() - n
        low = rows.clamp_max(0).sum(1).div_(torch.from_numpy(below).clamp_min_(1))
        high = rows.clamp_min(0).sum(1).div_(torch.from_numpy(above).clamp_min_(1))
        means.view(-1, 2).copy_(torch.stack([low, high - low], 1))

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        import numpy
        import torch

        from gradstream.codecs.blocks import split

        means, bits = split(data, (torch.float32, 2 * len(rows)), (torch.uint8, rows.numel() // 8))
        low, step = means.view(-1, 2, 1).unbind(1)
        rows.copy_(torch.from_numpy(numpy.unpackbits(bits.numpy())).view(rows.shape)).mul_(step).add_(low)

    def nbytes(self, n: int, itemsize: int) -> int:
        return count(n, self.block) * (8 + self.block // 8)
