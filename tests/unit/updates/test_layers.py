"""Layers cover the vector without a gap, and are at most as many as a sample may have."""

from __future__ import annotations

from itertools import pairwise

import pytest
from torch import nn

from gradstream.model.flat_model import parameter_shapes
from gradstream.optim.parameters import ParameterShape
from gradstream.updates.layers import WHOLE, Layer, layers_of


def layers(model: nn.Module, most: int) -> list[Layer]:
    shapes = parameter_shapes(model)
    size = sum(shape.size for shape in shapes)
    found = layers_of(shapes, size, most)
    assert (found[0].start, found[-1].stop) == (0, size)
    assert all(before.stop == after.start for before, after in pairwise(found)), "no gap, and no overlap"
    assert len(found) <= most
    return found


def deep() -> nn.Module:
    return nn.Sequential(*(nn.TransformerEncoderLayer(8, 2, 16) for _ in range(3)), nn.Linear(8, 2))


def test_few_parameters_are_the_layers() -> None:
    names = [layer.name for layer in layers(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), 64)]
    assert names == ["0.weight", "0.bias", "1.weight", "1.bias"]


@pytest.mark.parametrize(
    ("most", "first", "count"),
    [(30, "0.self_attn", 19), (5, "0", 4), (3, "0 .. 1", 2)],
    ids=["modules", "outermost modules", "neighbours"],
)
def test_many_parameters_become_modules_as_deep_as_the_limit_allows(most: int, first: str, count: int) -> None:
    found = layers(deep(), most)
    assert (found[0].name, len(found)) == (first, count)


def test_parameters_beside_modules_keep_their_names() -> None:
    shapes = [ParameterShape("scale", (2,)), *(ParameterShape(f"block.{n}.w", (3,)) for n in range(5))]
    assert [layer.name for layer in layers_of(shapes, 17, most=3)] == ["scale", "block"]


def test_a_vector_without_names_is_one_layer() -> None:
    assert layers_of((), 7) == [Layer(WHOLE, 0, 7)]
