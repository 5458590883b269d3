"""Sums of update samples by staleness or by progress. Their bins are alike, so counts add up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gradstream.api.model.updates import NormBand, UpdateGroup
from gradstream.updates.edges import BINS, lower_edge
from gradstream.updates.sample import LayerHistogram, UpdateSample, What

SLICES = 40
"""Groups by progress."""


class StalenessRange(NamedTuple):
    """0, 1, 2, 3-4, 5-8, 9-16 and so on."""

    low: int
    high: int

    @classmethod
    def of(cls, staleness: int) -> StalenessRange:
        if staleness < 2:
            return cls(staleness, staleness)
        power = (staleness - 1).bit_length()
        return cls((1 << (power - 1)) + 1, 1 << power)


def by_staleness(samples: Iterable[UpdateSample], what: What, layer: str | None) -> list[UpdateGroup]:
    """Return a group for each range of staleness that has samples."""
    ranges = defaultdict[StalenessRange, list[UpdateSample]](list)
    for sample in samples:
        ranges[StalenessRange.of(sample.staleness)].append(sample)
    groups = [_group(*limits, members, what, layer) for limits, members in sorted(ranges.items())]
    return [group for group in groups if group]


def by_progress(samples: Sequence[UpdateSample], what: What, layer: str | None) -> list[UpdateGroup]:
    """Return at most SLICES groups with as many samples each, by the samples that the center had seen."""
    ordered = sorted(samples, key=lambda sample: sample.samples)
    width = max(1, -(-len(ordered) // SLICES))
    runs = [ordered[start : start + width] for start in range(0, len(ordered), width)]
    groups = [_group(run[0].samples, run[-1].samples, run, what, layer) for run in runs]
    return [group for group in groups if group]


def _group(low: int, high: int, samples: Sequence[UpdateSample], what: What, layer: str | None) -> UpdateGroup | None:
    """Add the samples up; None: none has this layer."""
    bins, norms = np.zeros(BINS, np.int64), list[float]()
    elements = zeros = not_finite = dropped = 0
    for sample in samples:
        found = [one for one in sample.layers(what) if layer in (None, one.name)]
        if not found:
            continue
        norms.append(math.hypot(*(one.norm for one in found)))
        dropped += sample.outcome == "dropped"
        for one in found:
            bins[one.first : one.first + len(one.counts)] += np.array(one.counts, np.int64)
            elements, zeros, not_finite = elements + one.elements, zeros + one.zeros, not_finite + one.not_finite
    if not norms:
        return None
    places = bins.nonzero()[0]
    first, stop = (int(places[0]), int(places[-1]) + 1) if places.size else (0, 0)
    p10, p50, p90 = np.quantile(np.minimum(norms, np.finfo(np.float64).max / 2), (0.1, 0.5, 0.9)).tolist()
    return UpdateGroup(
        low=low,
        high=high,
        count=len(norms),
        dropped=dropped,
        elements=elements,
        zeros=zeros,
        not_finite=not_finite,
        first=first,
        counts=bins[first:stop].tolist(),
        median=_median(bins, zeros),
        norm=NormBand(p10=p10, p50=p50, p90=p90),
    )


def _median(bins: np.ndarray, zeros: int) -> float | None:
    """Return the median magnitude, as if those of a bin were spread evenly over its logarithm."""
    total = zeros + int(bins.sum())
    if total == 0:
        return None
    left = total / 2 - zeros
    if left <= 0:
        return 0.0
    summed = np.cumsum(bins)
    place = int(np.searchsorted(summed, left))
    share = (left - (int(summed[place - 1]) if place else 0)) / int(bins[place])
    low, high = lower_edge(place), lower_edge(place) * (lower_edge(place % 2 + 1) / lower_edge(place % 2))
    return float(low * (high / low) ** share)


def layers_of(samples: Sequence[UpdateSample]) -> tuple[LayerHistogram, ...]:
    """Return the layers of the newest sample: a job's are alike."""
    return samples[-1].update if samples else ()
