"""Histograms of magnitudes equal those that numpy makes of the same edges, for every dtype and every odd value."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gradstream.updates.bins import CHUNK, count_magnitudes
from gradstream.updates.edges import BINS, lower_edge
from gradstream.updates.layers import Layer
from gradstream.updates.sampler import measure

EDGES = np.array([lower_edge(number) for number in range(BINS + 1)])


def vector(size: int, seed: int = 1) -> np.ndarray:
    """Normal values times powers of ten from -20 to 20, a tenth of them zero."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=size) * 10.0 ** draw.integers(-20, 20, size)
    return np.where(draw.random(size) < 0.1, 0.0, values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_are_those_of_numpy(dtype: type) -> None:
    x = vector(2 * CHUNK + 77).astype(dtype)
    found = count_magnitudes(x)
    nonzero = np.abs(x[x != 0]).astype(np.float64)
    assert found.bins.tolist() == np.histogram(nonzero, EDGES)[0].tolist()
    assert (found.zeros, found.not_finite) == (int((x == 0).sum()), 0)
    assert found.norm == pytest.approx(float(np.linalg.norm(x.astype(np.float64))), rel=1e-5)
    assert (found.low, found.high) == (float(x.min()), float(x.max()))


def test_each_edge_is_in_the_bin_that_it_begins() -> None:
    x = np.array([1.0, 1.5, 2.0, -1.4999, 3.0], np.float32)
    places = {lower_edge(place): count for place, count in enumerate(count_magnitudes(x).bins.tolist()) if count}
    assert places == {1.0: 2, 1.5: 1, 2.0: 1, 3.0: 1}


def test_values_beyond_the_bins_are_in_the_outermost_and_odd_ones_are_counted_apart() -> None:
    x = np.array([5e-324, 1e-300, 1e300, math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0])
    found = count_magnitudes(x)
    assert (found.bins[0], found.bins[-1], found.zeros, found.not_finite) == (2, 1, 2, 3)
    assert found.bins.sum() + found.zeros + found.not_finite == x.size
    assert (found.norm, found.low, found.high) == (1e300, 0.0, 1e300)
    subnormal = count_magnitudes(np.array([1e-44, math.nan], np.float32))
    assert (subnormal.bins[0], subnormal.bins.sum(), subnormal.zeros, subnormal.not_finite) == (1, 1, 0, 1)


def test_a_vector_without_a_finite_value_has_no_range() -> None:
    assert count_magnitudes(np.array([math.nan], np.float32))[1:] == (0, 1, 0.0, None, None)
    assert count_magnitudes(np.array([], np.float32))[1:] == (0, 0, 0.0, None, None)


def test_squares_that_overflow_have_a_finite_norm() -> None:
    assert count_magnitudes(np.array([3e30, 4e30], np.float32)).norm == pytest.approx(5e30)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_each_layer_is_counted_by_itself_and_adds_up_to_its_elements(dtype: torch.dtype) -> None:
    x = torch.linspace(-3, 3, 1001).to(dtype)
    layers = [Layer("a", 0, 400), Layer("b", 400, 400), Layer("c", 400, 1001)]
    for layer, found in zip(layers, measure(x, layers), strict=True):
        part = x[layer.start : layer.stop].double().abs().numpy()
        counts = np.histogram(part[part > 0], EDGES)[0]
        assert (found.name, found.elements) == (layer.name, layer.stop - layer.start)
        assert sum(found.counts) + found.zeros + found.not_finite == found.elements
        assert list(found.counts) == counts[found.first : found.first + len(found.counts)].tolist()
        assert sum(found.counts) == counts.sum()
