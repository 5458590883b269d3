"""float16, each block scaled by a power of two so that its largest value uses the whole range.

Bytes: 2n + 4 per block of 1,024.  Error: at most 2^-11 of each value, or 2^-39 of the block's largest.
A block's unit is the power of two that brings its largest value to 2^14 .. 2^15, or the least normal float32: then the steps of a
float16 are smaller than those of a float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec, count

if TYPE_CHECKING:
    from torch import Tensor

_FRACTION = 23
"""Bits of a float32 below its exponent."""
_ONE_SQUARED = 254 << _FRACTION
"""1 / unit has these bits less those of the unit, a power of two."""


class Fp16(Codec, frozen=True):
    """float16, scaled: half of the bytes, three more bits than bfloat16."""

    name: Literal["fp16"] = "fp16"
    block: ClassVar[int] = 1024

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        import torch

        from gradstream.codecs.blocks import split

        units, halves = split(data, (torch.float32, len(rows)), (torch.float16, rows.numel()))
        scaled = rows.abs()
        bits = ((scaled.amax(1).view(torch.int32) >> _FRACTION) - 14).clamp_min_(1) << _FRACTION
        units.copy_(bits.view(torch.float32))
        torch.mul(rows, (_ONE_SQUARED - bits).view(torch.float32)[:, None], out=scaled)  # by 1 / unit
        halves.view(rows.shape).copy_(scaled)

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        import torch

        from gradstream.codecs.blocks import split

        units, halves = split(data, (torch.float32, len(rows)), (torch.float16, rows.numel()))
        rows.copy_(halves.view(rows.shape)).mul_(units[:, None])

    def nbytes(self, n: int, itemsize: int) -> int:
        return count(n, self.block) * (4 + 2 * self.block)
