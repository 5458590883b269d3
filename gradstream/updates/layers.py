"""Layers of a flat vector: its parameters, or modules where there are more parameters than a sample may have layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from gradstream.optim.parameters import ParameterShape

MAX_LAYERS = 64
MAX_LAYER_NAME = 200
WHOLE = "theta"
"""The one layer of a vector whose parameters have no names."""


class Layer(NamedTuple):
    """A named part of the vector."""

    name: str
    start: int
    stop: int


def layers_of(parameters: Sequence[ParameterShape], size: int, most: int = MAX_LAYERS) -> list[Layer]:
    """Return at most so many layers, which cover a vector of this size without a gap.

    Parameters of one module become one layer, of modules as deep in the model as the limit allows. Where even the outermost
    modules are too many, neighbours are joined: `first .. last`."""
    named = [parameter for parameter in parameters if parameter.size]
    if sum(parameter.size for parameter in named) != size or not named:
        return [Layer(WHOLE, 0, size)]
    deepest = max(parameter.name.count(".") for parameter in named)
    found = _grouped([parameter.name for parameter in named], named)
    for depth in range(deepest, 0, -1):
        if len(found) <= most:
            break
        found = _grouped([".".join(parameter.name.split(".")[:-1][:depth]) or parameter.name for parameter in named], named)
    return _joined(found, most)


def _grouped(names: Sequence[str], parameters: Sequence[ParameterShape]) -> list[Layer]:
    """One layer for each run of equal names."""
    layers, start = list[Layer](), 0
    for name, run in groupby(zip(names, parameters, strict=True), key=lambda pair: pair[0]):
        stop = start + sum(parameter.size for _, parameter in run)
        layers.append(Layer(name[:MAX_LAYER_NAME], start, stop))
        start = stop
    return layers


def _joined(layers: list[Layer], most: int) -> list[Layer]:
    width = -(-len(layers) // most)
    if width == 1:
        return layers
    runs = [layers[first : first + width] for first in range(0, len(layers), width)]
    return [Layer(f"{run[0].name} .. {run[-1].name}"[:MAX_LAYER_NAME], run[0].start, run[-1].stop) for run in runs]
