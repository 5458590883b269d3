"""A vector as rows of equal length, for codecs that code block by block; and bytes of several tensors, one behind another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def rows(x: Tensor, block: int) -> Tensor:
    """`x`, shape (n,), as float32 of shape (ceil(n / block), block), zeros behind its end."""
    import torch

    missing = -x.numel() % block
    x = x.to(torch.float32)
    return (torch.nn.functional.pad(x, (0, missing)) if missing else x).view(-1, block)


def count(n: int, block: int) -> int:
    """Rows of a vector of n elements."""
    return -(-n // block)


def fill(out: Tensor, values: Tensor) -> None:
    """Copy rows back into a vector, without the zeros behind its end."""
    out.copy_(values.reshape(-1)[: out.numel()])


def joined(*parts: Tensor) -> memoryview:
    import torch

    return memoryview(bytearray().join(part.contiguous().view(-1).view(torch.uint8).numpy().data for part in parts))


def split(data: bytearray, *parts: tuple[torch.dtype, int]) -> list[Tensor]:
    """The tensors, given as (dtype, length), that `joined` has put together."""
    import torch

    found, start = [], 0
    for dtype, length in parts:
        found.append(torch.frombuffer(data, dtype=dtype, count=length, offset=start) if length else torch.empty(0, dtype=dtype))
        start += length * dtype.itemsize
    return found
