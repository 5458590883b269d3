"""Counts of magnitudes |x| in the bins of `gradstream.updates.edges`.

Each vector has the same bins, so counts of several vectors, layers and workers add up. The bits of a float give its bin: the
exponent and the first bit of the fraction. So no logarithm is taken."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.updates.edges import BINS, LOWEST_EXPONENT

CHUNK = 1 << 15
"""Elements that are looked at together, so that they stay in a cache."""


class Counts(NamedTuple):
    """The magnitudes of one vector."""

    bins: NDArray[np.int64]
    """Shape (BINS,). Smaller magnitudes count in the first bin, greater ones (of float64) in the last."""
    zeros: int
    not_finite: int
    norm: float
    """L2, of the finite values."""
    low: float | None
    high: float | None
    """The least and the greatest finite value; None: there is none."""


def count_magnitudes(x: NDArray[np.floating]) -> Counts:
    """Count a vector of float32 or float64, shape (n,). It is read once, in chunks, and not copied."""
    bins, zeros, not_finite, norm = np.zeros(BINS, np.int64), 0, 0, 0.0
    low, high = math.inf, -math.inf
    for start in range(0, x.size, CHUNK):
        chunk = x[start : start + CHUNK]
        counted, odd = _count_chunk(chunk)
        of_chunk = chunk.size - int(np.count_nonzero(chunk)) if counted[0] else 0
        bins += counted
        bins[0] -= of_chunk
        zeros, not_finite = zeros + of_chunk, not_finite + odd
        finite = chunk[np.isfinite(chunk)] if odd else chunk
        if finite.size:
            norm = math.hypot(norm, _norm(finite))
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    none = low > high
    return Counts(bins, zeros, not_finite, norm, None if none else low, None if none else high)


def _count_chunk(chunk: NDArray[np.floating]) -> tuple[NDArray[np.int64], int]:
    """Return the counts, zeros in the first bin, and how many values are not finite."""
    if chunk.dtype == np.float32:
        keys = (chunk.view(np.int32) & 0x7FFF_FFFF) >> 22
        first, last = 2 * (LOWEST_EXPONENT + 127), 2 * 255
    else:
        keys = (chunk.view(np.int64) & 0x7FFF_FFFF_FFFF_FFFF) >> 51
        first, last = 2 * (LOWEST_EXPONENT + 1023), 2 * 2047
    counted = np.bincount(keys, minlength=last + 2)
    found = counted[first : min(last, first + BINS)].copy()
    found[0] += counted[:first].sum()
    found[-1] += counted[first + BINS : last].sum()
    return found, int(counted[last:].sum())


def _norm(x: NDArray[np.floating]) -> float:
    """Return the L2 norm; of scaled values in float64 where squares would overflow."""
    with np.errstate(over="ignore"):
        squares = float(np.dot(x, x))
    if math.isfinite(squares):
        return math.sqrt(squares)
    greatest = float(np.abs(x).max())
    return greatest * math.sqrt(float(np.square(x / greatest, dtype=np.float64).sum()))
