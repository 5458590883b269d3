"""The upper half of a float32, rounded to the nearest.  Bytes: 2n.  Error: at most 2^-8 of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class Bf16(Codec, frozen=True):
    """bfloat16: half of the bytes, the range of float32."""

    name: Literal["bf16"] = "bf16"

    def encode(self, x: Tensor) -> memoryview:
        import torch

        data: memoryview = x.to(torch.bfloat16).view(torch.uint8).numpy().data
        return data

    def decode(self, data: bytearray, out: Tensor) -> None:
        import torch

        if data:
            out.copy_(torch.frombuffer(data, dtype=torch.bfloat16))

    def nbytes(self, n: int, itemsize: int) -> int:
        return 2 * n
