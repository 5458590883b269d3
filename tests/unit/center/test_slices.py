"""The cut of a vector into shards."""

from __future__ import annotations

import pytest

from gradstream.center.parameters.slices import ALIGN, slices, slices_for
from gradstream.optim.parameters import ParameterShape


@pytest.mark.parametrize("size", [1, 100, ALIGN, ALIGN + 1, 3 * ALIGN, 10 * ALIGN + 7])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_slices_cover_the_vector_and_the_first_ones_of_a_small_one_are_empty(size: int, count: int) -> None:
    cut = slices(size, count)
    lengths = [each.stop - each.start for each in cut]
    assert [each.start for each in cut[1:]] == [each.stop for each in cut[:-1]]
    assert (cut[0].start, cut[-1].stop, sum(lengths)) == (0, size, size)
    assert all(each.start % ALIGN == 0 for each in cut)
    blocks = -(-size // ALIGN)
    assert lengths[-1] > 0
    assert (lengths[0] == 0) == (blocks < count)


def _mlp() -> list[int]:
    return [784 * 500, 500, 500 * 300, 300, 300 * 10, 10]


def _gpt2() -> list[int]:
    block = [768, 768, 768 * 2304, 2304, 768 * 768, 768, 768, 768, 768 * 3072, 3072, 3072 * 768, 768]
    return [50257 * 768, 1024 * 768, *(12 * block), 768, 768]


def _llama() -> list[int]:
    block = [*(4 * [4096 * 4096]), *(3 * [4096 * 11008]), 4096, 4096]
    return [32000 * 4096, *(32 * block), 4096, 32000 * 4096]


def _resnet50() -> list[int]:
    found, inside = [64 * 3 * 49, 64, 64], 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(count):
            convolutions = [inside * width, width, width, width * width * 9, width, width, width * 4 * width, 4 * width, 4 * width]
            shortcut = [inside * 4 * width, 4 * width, 4 * width] if number == 0 else []
            found += [*convolutions, *shortcut]
            inside = 4 * width
    return [*found, 2048 * 1000, 1000]


@pytest.mark.parametrize(
    ("sizes", "parameters", "balances"),
    [
        (_llama(), 6_738_415_616, [1.00, 0.98, 0.98]),
        (_gpt2(), 124_439_808, [1.00, 0.81, 0.40]),
        (_resnet50(), 25_557_032, [0.98, 0.89, 0.66]),
        (_mlp(), 545_810, [0.70, 0.35, 0.17]),
    ],
    ids=["llama", "gpt2", "resnet50", "mlp"],
)
def test_known_models_have_known_balances_where_a_rule_needs_whole_parameters(
    sizes: list[int], parameters: int, balances: list[float]
) -> None:
    """Mean over largest slice on 2, 4 and 8 servers, computed apart from this code."""
    shapes = [ParameterShape(str(number), (size,)) for number, size in enumerate(sizes)]
    assert sum(sizes) == parameters
    for count, expected in zip((2, 4, 8), balances, strict=True):
        parts = slices_for("matrix", shapes, parameters, count)
        largest = max(part.stop - part.start for part in parts)
        assert parameters / count / largest >= expected - 0.005, "cuts at the nearest parameter balance as well, or better"
        assert largest >= max(sizes), "by which plan and auto forecast it"
