"""One of every `every` values of each block; which ones is drawn for each block and push.

Bytes: 4n / every + 1 per block of 4,096.  Error: the values that are not drawn.
A block sends a comb of its elements, at an offset that is drawn from its own bits. So a codec stays a function of the vector, every
element has the same chance, and the offset is all that says which ones travel.
Source: Stich, Cordonnier, Jaggi 2018, "Sparsified SGD with Memory" (random-k with error feedback).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gradstream.codecs.base import Codec, count

if TYPE_CHECKING:
    from torch import Tensor


class RandomK(Codec, frozen=True):
    """Random-k: a random comb of the values of each block."""

    name: Literal["randomk"] = "randomk"
    block: ClassVar[int] = 4096
    dense: ClassVar[bool] = False
    every: Literal[2, 4, 8, 16, 32, 64, 128] = Field(16, description="Values per value that is sent: 16 sends one of 16")

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        import torch

        drawn, offsets = self._split(data, len(rows))
        bits = rows.view(torch.int64).sum(1)  # of whole numbers: the same in any order
        hashed = (bits ^ bits >> 32) * 0x9E3779B1
        torch.remainder(hashed >> 16, self.every, out=offsets)
        combs = rows.view(len(rows), -1, self.every)
        torch.gather(combs, 2, self._places(offsets), out=drawn)

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        drawn, offsets = self._split(data, len(rows))
        rows.zero_().view(len(rows), -1, self.every).scatter_(2, self._places(offsets), drawn)

    def _split(self, data: Tensor, blocks: int) -> tuple[Tensor, Tensor]:
        import torch

        from gradstream.codecs.blocks import split

        teeth = self.block // self.every
        drawn, offsets = split(data, (torch.float32, blocks * teeth), (torch.uint8, blocks))
        return drawn.view(blocks, teeth, 1), offsets

    def _places(self, offsets: Tensor) -> Tensor:
        import torch

        return offsets.to(torch.int64)[:, None, None].expand(-1, self.block // self.every, 1)

    def nbytes(self, n: int, itemsize: int) -> int:
        return count(n, self.block) * (4 * self.block // self.every + 1)
