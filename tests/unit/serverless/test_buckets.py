"""Buckets of a vector: all of it once, from the end, of whole parameters."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from gradstream.optim.parameters import ParameterShape, starts
from gradstream.serverless.collective.buckets import LARGEST, vector_buckets
from gradstream.wire.transport.layout import Layout

DRAWN = [tuple(random.Random(seed).choices([1, 10, 4096, 70_000, 10**6, 5 * 10**6], k=seed + 1)) for seed in range(9)]


def layout(*sizes: int, dtype: str = "float32") -> Layout:
    return Layout(sum(sizes), dtype, 0, 0, 1, tuple(ParameterShape(str(i), (size,)) for i, size in enumerate(sizes)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("sizes", DRAWN, ids=len)
def test_they_cover_the_vector_once_from_its_end(sizes: tuple[int, ...], dtype: str) -> None:
    vector = layout(*sizes, dtype=dtype)
    nbytes, found = vector.torch_dtype.itemsize, vector_buckets(vector)
    assert (found[0].stop, found[-1].start) == (sum(sizes), 0)
    assert all(later.stop == earlier.start for earlier, later in pairwise(found))
    assert all(0 < (bucket.stop - bucket.start) * nbytes <= LARGEST for bucket in found)
    for bucket in found:
        split = bucket.start not in starts(vector.parameters)
        assert not split or (bucket.stop - bucket.start) * nbytes == LARGEST, "only long ones are split"


def test_the_last_layers_go_first_and_together() -> None:
    """784-500-300-10: the last two layers have 0.6 MB, the first 1.6 MB."""
    sizes = (784 * 500, 500, 500 * 300, 300, 300 * 10, 10)
    assert vector_buckets(layout(*sizes)) == [slice(392_500, 545_810), slice(0, 392_500)]


def test_a_vector_without_parameters_is_split() -> None:
    half = LARGEST // 4
    assert vector_buckets(Layout(2 * half + 1, "float32", 0, 0, 1)) == [
        slice(half + 1, 2 * half + 1),
        slice(1, half + 1),
        slice(0, 1),
    ]
