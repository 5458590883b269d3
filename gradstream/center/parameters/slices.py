"""The slices of the flat vector, one for each shard."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from gradstream.optim.parameters import ParameterShape, starts
from gradstream.optim.spec import Sees

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


def slices_for(sees: Sees, parameters: Sequence[ParameterShape], size: int, count: int, align: int = ALIGN) -> list[slice]:
    """Return the slices for a rule that sees so much of the parameters, which fill range(size). Such a rule goes over each
    parameter by itself, so slices begin where one does; if the rule takes parts of a parameter, also multiples of `align` behind
    that."""
    if sees == "element" or not parameters:
        return slices(size, count, align)
    begins = starts(parameters)
    bounds = [_nearest(begins, size * k // count, align if sees == "parameter" else size) for k in range(count + 1)]
    return [slice(bounds[k], bounds[k + 1]) for k in range(count)]


def _nearest(begins: list[int], target: int, step: int) -> int:
    """Return the nearest place where a slice may begin. `begins`: of each parameter, and the end."""
    number = bisect_right(begins, target) - 1
    if number + 1 == len(begins):
        return target
    below = begins[number] + (target - begins[number]) // step * step
    above = min(begins[number + 1], below + step)
    return below if target - below <= above - target else above
