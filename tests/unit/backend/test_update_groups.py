"""Update samples add up by staleness and by progress, and their figures are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.updates.grouping import SLICES, StalenessRange, by_progress, by_staleness
from gradstream.updates.layers import Layer
from gradstream.updates.sample import UpdateSample
from gradstream.updates.sampler import measure

LAYERS = [Layer("first", 0, 700), Layer("last", 700, 1000)]


def vector(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1000, generator=generator) * (torch.rand(1000, generator=generator) > 0.2)


def sample(seed: int, staleness: int = 0, **changes: object) -> UpdateSample:
    place = {"step": seed, "push": seed, "base": 0, "version": staleness + 1, "samples": 10 * seed, "time": 1.7e9}
    given = {"staleness": staleness, "outcome": "applied", "pushes_gradient": True, "update": measure(vector(seed), LAYERS)}
    return UpdateSample.model_validate(place | given | changes)


def test_ranges_of_staleness_double() -> None:
    found = sorted({StalenessRange.of(staleness) for staleness in range(33)})
    assert found == [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32)]


@pytest.mark.parametrize(("layer", "part"), [(None, slice(0, 1000)), ("first", slice(0, 700)), ("last", slice(700, 1000))])
def test_a_group_adds_up_its_samples(layer: str | None, part: slice) -> None:
    stale = [0, 3, 4, 4, 0, 3, 4, 3]
    groups = by_staleness([sample(seed, one) for seed, one in enumerate(stale)], "update", layer)
    assert [(group.low, group.high, group.count) for group in groups] == [(0, 0, 2), (3, 4, 6)]
    for group in groups:
        members = [vector(seed)[part] for seed, one in enumerate(stale) if group.low <= one <= group.high]
        all_values = torch.cat(members).abs().double().numpy()
        assert group.elements == all_values.size
        assert sum(group.counts) + group.zeros == group.elements
        assert group.zeros == int((all_values == 0).sum())
        assert group.median == pytest.approx(float(np.median(all_values)), rel=0.2), "within its bin"
        norms = [float(member.double().norm()) for member in members]
        assert [group.norm.p10, group.norm.p50, group.norm.p90] == pytest.approx(np.quantile(norms, (0.1, 0.5, 0.9)), rel=1e-4)


def test_by_progress_all_samples_are_in_at_most_so_many_groups_in_their_order() -> None:
    samples = [sample(seed) for seed in range(1, 102)]
    groups = by_progress(samples[::-1], "update", "last")
    assert len(groups) <= SLICES
    assert sum(group.count for group in groups) == len(samples)
    assert [group.low for group in groups] == sorted(group.low for group in groups)
    assert (groups[0].low, groups[-1].high) == (10, 1010)


def test_samples_without_a_gradient_are_left_out_of_gradients_and_dropped_pushes_are_counted() -> None:
    samples = [sample(1), sample(2, pushes_gradient=False), sample(3, outcome="dropped")]
    assert [(group.count, group.dropped) for group in by_staleness(samples, "gradient", None)] == [(2, 1)]
    assert [(group.count, group.dropped) for group in by_staleness(samples, "update", None)] == [(3, 1)]
    assert by_staleness(samples[1:2], "gradient", None) == []


def test_a_vector_of_zeros_has_the_median_zero_and_one_that_is_not_finite_has_none() -> None:
    zeros, odd = (measure(torch.full((4,), value), [Layer("all", 0, 4)]) for value in (0.0, float("nan")))
    [group] = by_staleness([sample(1, update=zeros)], "update", None)
    assert (group.median, group.zeros, group.counts, group.norm.p50) == (0.0, 4, [], 0.0)
    [group] = by_staleness([sample(1, update=odd)], "update", None)
    assert (group.median, group.not_finite) == (None, 4)
