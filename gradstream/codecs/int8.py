"""Eight bits per value, each block with a scale of its own: round(x / scale), scale = largest / 127.

Bytes: n + 4 per block of 256.  Error: at most 1/254 of the block's largest value, or half of the least normal float32.
Source: Dettmers 2016, "8-Bit Approximations for Parallelism in Deep Learning" (blockwise, linear).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec, count

if TYPE_CHECKING:
    from torch import Tensor


class Int8(Codec, frozen=True):
    """int8 by blocks: a quarter of the bytes."""

    name: Literal["int8"] = "int8"
    block: ClassVar[int] = 256

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        import torch

        from gradstream.codecs.blocks import split

        scales, steps = split(data, (torch.float32, len(rows)), (torch.int8, rows.numel()))
        counted = rows.abs()
        torch.div(counted.amax(1), 127, out=scales).clamp_min_(torch.finfo(torch.float32).tiny)
        steps.view(rows.shape).copy_(torch.div(rows, scales[:, None], out=counted).round_())

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        import torch

        from gradstream.codecs.blocks import split

        scales, steps = split(data, (torch.float32, len(rows)), (torch.int8, rows.numel()))
        rows.copy_(steps.view(rows.shape)).mul_(scales[:, None])

    def nbytes(self, n: int, itemsize: int) -> int:
        return count(n, self.block) * (4 + self.block)
