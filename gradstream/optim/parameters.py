"""The parameters of a model in its flat vector: they lie in it one behind another, in the order of `model.parameters()`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple


class ParameterShape(NamedTuple):
    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)


def read_shapes(saved: Iterable[Sequence[Any]]) -> tuple[ParameterShape, ...]:
    """Return them from plain values: JSON and files of checkpoints have lists or tuples in their place."""
    return tuple(ParameterShape(name, tuple(shape)) for name, shape in saved)


def starts(parameters: Sequence[ParameterShape]) -> list[int]:
    """Return where each parameter begins in the vector, and at last its length."""
    return list(accumulate((parameter.size for parameter in parameters), initial=0))


def pieces(parameters: Sequence[ParameterShape], part: slice) -> tuple[ParameterShape, ...]:
    """Return what lies in this part of the vector, one behind another. A parameter that is cut has a flat piece there."""
    found: list[ParameterShape] = []
    for parameter, start in zip(parameters, starts(parameters), strict=False):
        held = min(start + parameter.size, part.stop) - max(start, part.start)
        if held > 0:
            found.append(parameter if held == parameter.size else ParameterShape(parameter.name, (held,)))
    return tuple(found)
