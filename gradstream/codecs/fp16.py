"""float16, each block scaled by a power of two so that its largest value uses the whole range.

Bytes: 2n + 4 per block of 1,024.  Error: at most 2^-11 of each value, or 2^-40 of the block's largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class Fp16(Codec, frozen=True):
    """float16, scaled: half of the bytes, three more bits than bfloat16."""

    name: Literal["fp16"] = "fp16"
    block: ClassVar[int] = 1024

    def encode(self, x: Tensor) -> memoryview:
        import torch

        from gradstream.codecs.blocks import joined, rows

        values = rows(x, self.block)
        _, exponents = torch.frexp(values.abs().amax(1))
        halves = torch.ldexp(values, (15 - exponents)[:, None]).to(torch.float16)
        return joined(exponents.to(torch.int32), halves)

    def decode(self, data: bytearray, out: Tensor) -> None:
        import torch

        from gradstream.codecs.blocks import count, fill, split

        blocks = count(out.numel(), self.block)
        exponents, halves = split(data, (torch.int32, blocks), (torch.float16, blocks * self.block))
        fill(out, torch.ldexp(halves.view(-1, self.block).to(torch.float32), (exponents - 15)[:, None]))

    def nbytes(self, n: int, itemsize: int) -> int:
        from gradstream.codecs.blocks import count

        return count(n, self.block) * (4 + 2 * self.block)
