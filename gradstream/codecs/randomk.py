"""One of every `every` values of each block; which ones is drawn for each block and push.

Bytes: 4n / every + 1 per block of 4,096.  Error: the values that are not drawn.
A block sends a comb of its elements, at an offset that is drawn from its own bits. So a codec stays a function of the vector, every
element has the same chance, and the offset is all that says which ones travel.
Source: Stich, Cordonnier, Jaggi 2018, "Sparsified SGD with Memory" (random-k with error feedback).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class RandomK(Codec, frozen=True):
    """Random-k: a random comb of the values of each block."""

    name: Literal["randomk"] = "randomk"
    block: ClassVar[int] = 4096
    dense: ClassVar[bool] = False
    every: Literal[2, 4, 8, 16, 32, 64, 128] = Field(16, description="One of so many values travels")

    def encode(self, x: Tensor) -> memoryview:
        import torch

        from gradstream.codecs.blocks import joined, rows

        values = rows(x, self.block)
        hashed = values.view(torch.int32).sum(1, dtype=torch.int64) * 0x9E3779B1  # of whole numbers: the same in any order
        offsets = (hashed >> 16) % self.every
        combs = values.view(-1, self.block // self.every, self.every)
        drawn = combs.gather(2, offsets[:, None, None].expand(-1, combs.shape[1], 1))
        return joined(drawn, offsets.to(torch.uint8))

    def decode(self, data: bytearray, out: Tensor) -> None:
        import torch

        from gradstream.codecs.blocks import count, fill, split

        blocks, teeth = count(out.numel(), self.block), self.block // self.every
        drawn, offsets = split(data, (torch.float32, blocks * teeth), (torch.uint8, blocks))
        whole = torch.zeros(blocks, teeth, self.every)
        whole.scatter_(2, offsets.to(torch.int64)[:, None, None].expand(-1, teeth, 1), drawn.view(blocks, teeth, 1))
        fill(out, whole)

    def nbytes(self, n: int, itemsize: int) -> int:
        from gradstream.codecs.blocks import count

        return count(n, self.block) * (4 * self.block // self.every + 1)
