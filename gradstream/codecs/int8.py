"""Eight bits per value, each block with a scale of its own: round(x / scale), scale = largest / 127.

Bytes: n + 4 per block of 256.  Error: at most 1/254 of the block's largest value.
Source: Dettmers 2016, "8-Bit Approximations for Parallelism in Deep Learning" (blockwise, linear).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class Int8(Codec, frozen=True):
    """int8 by blocks: a quarter of the bytes."""

    name: Literal["int8"] = "int8"
    block: ClassVar[int] = 256

    def encode(self, x: Tensor) -> memoryview:
        import torch

        from gradstream.codecs.blocks import joined, rows

        values = rows(x, self.block)
        scales = values.abs().amax(1) / 127
        steps = values / scales.clamp_min(torch.finfo(torch.float32).tiny)[:, None]
        return joined(scales, steps.round_().clamp_(-127, 127).to(torch.int8))

    def decode(self, data: bytearray, out: Tensor) -> None:
        import torch

        from gradstream.codecs.blocks import count, fill, split

        blocks = count(out.numel(), self.block)
        scales, steps = split(data, (torch.float32, blocks), (torch.int8, blocks * self.block))
        fill(out, steps.view(-1, self.block).to(torch.float32) * scales[:, None])

    def nbytes(self, n: int, itemsize: int) -> int:
        from gradstream.codecs.blocks import count

        return count(n, self.block) * (4 + self.block)
