"""A chunk of a vector as rows of equal length, for codecs that code block by block; and tensors one behind another in bytes."""

from __future__ import annotations

import torch
from torch import Tensor

from gradstream.codecs.base import count


def rows(x: Tensor, block: int) -> Tensor:
    """`x`, shape (n,), as float32 of shape (ceil(n / block), block), zeros behind its end. A view of it, if it can be."""
    missing = -x.numel() % block
    x = x.to(torch.float32)
    return (torch.nn.functional.pad(x, (0, missing)) if missing else x).view(-1, block)


def padded(out: Tensor, block: int) -> Tensor:
    """Memory for the rows of `out`: itself, if its length and kind allow that. Then `put_back` has nothing to do."""
    if out.dtype == torch.float32 and out.numel() % block == 0:
        return out.view(-1, block)
    return torch.empty(count(out.numel(), block), block)


def put_back(values: Tensor, out: Tensor) -> None:
    """Copy rows back into a vector, without what lies behind its end."""
    if values.data_ptr() != out.data_ptr():
        out.copy_(values.view(-1)[: out.numel()])


def split(data: Tensor, *parts: tuple[torch.dtype, int]) -> list[Tensor]:
    """Views of bytes as tensors one behind another, given as (dtype, length)."""
    found, start = [], 0
    for dtype, length in parts:
        stop = start + length * dtype.itemsize
        found.append(data[start:stop].view(dtype))
        start = stop
    return found
