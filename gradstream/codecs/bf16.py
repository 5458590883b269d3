"""The upper half of a float32, rounded to the nearest.  Bytes: 2n.  Error: at most 2^-8 of each value; below the least
normal float32, 2^-8 of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class Bf16(Codec, frozen=True):
    """bfloat16: half of the bytes, the range of float32."""

    name: Literal["bf16"] = "bf16"

    def encode_rows(self, rows: Tensor, data: Tensor, n: int) -> None:
        import torch

        data.view(torch.bfloat16).copy_(rows.view(-1))

    def decode_rows(self, data: Tensor, rows: Tensor) -> None:
        import torch

        rows.view(-1).copy_(data.view(torch.bfloat16))

    def nbytes(self, n: int, itemsize: int) -> int:
        return 2 * n
