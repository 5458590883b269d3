"""The slices of the flat vector, one for each shard."""

from __future__ import annotations

ALIGN = 4096
"""Slices begin at multiples of this, so that element-wise kernels treat each element as they would in the whole vector
(same lane, same remainder): one of the two reasons why any number of shards gives the same bits. The other: the worker computes
all values that couple elements (norms, scales) on the whole vector."""


def slices(size: int, count: int, align: int = ALIGN) -> list[slice]:
    """Return `count` slices of nearly equal length that cover range(size). A vector of fewer than `count` blocks of `align`
    elements leaves some empty: the first always, the last never."""
    blocks = -(-size // align)
    bounds = [min(size, blocks * k // count * align) for k in range(count + 1)]
    return [slice(bounds[k], bounds[k + 1]) for k in range(count)]
