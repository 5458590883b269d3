"""The values as they are.  Bytes: n * itemsize.  Error: none, decode(encode(x)) = x bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from gradstream.codecs.base import Codec

if TYPE_CHECKING:
    from torch import Tensor


class Raw(Codec, frozen=True):
    """Uncompressed: the vector's own bytes."""

    name: Literal["raw"] = "raw"
    lossy: ClassVar[bool] = False

    def encode(self, x: Tensor) -> memoryview:
        import torch

        data: memoryview = x.view(torch.uint8).numpy().data  # as bytes first: numpy has no bfloat16
        return data

    def decode(self, data: bytearray | memoryview, out: Tensor) -> None:
        import torch

        if data:
            out.copy_(torch.frombuffer(data, dtype=out.dtype))

    def nbytes(self, n: int, itemsize: int) -> int:
        return n * itemsize


RAW = Raw()
