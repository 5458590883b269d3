"""What a codec is: how a vector becomes bytes on the wire and a vector again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from torch import Tensor


class Codec(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    def encode(self, x: Tensor) -> memoryview:
        """The bytes of `x`, shape (n,), on the CPU. May be a view of `x`: it is valid until `x` changes."""
        raise NotImplementedError

    def decode(self, data: bytearray, out: Tensor) -> None:
        """Write the vector that `data` stands for into `out`, shape (n,)."""
        raise NotImplementedError
