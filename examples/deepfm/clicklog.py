"""A click log that is planted: every example is computed from its number. So any worker makes any part of it, and the best
AUC that a model can reach is known.

    id_f ~ Zipf(1.05) over IDS / 4^f ids of field f
    logit = -2 + sum_f w(id_f) + v(id_0) . v(id_1) + v(id_2) . v(id_3),    w ~ .6 N(0, 1), v ~ .6 N(0, I_4)
    click ~ Bernoulli(sigmoid(logit))
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

FIELDS, IDS, DIM = 8, 100_000, 4
PAIRS = ((0, 1), (2, 3))
_INCREMENT, _FIRST, _SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def clicks(numbers: NDArray[np.int64], seed: int = 1) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids of these examples, (examples, fields), distinct over all fields, and their clicks."""
    ids = np.stack([_ids(numbers, field, seed) for field in range(FIELDS)], axis=1)
    return ids, (_uniform(seed, 99, numbers) < probabilities(ids, seed)).astype(np.float32)


def probabilities(ids: NDArray[np.int64], seed: int = 1) -> NDArray[np.float64]:
    """Return the probability of a click of each example."""
    logits = -2 + sum(0.6 * _normal(seed, 0, ids[:, field]) for field in range(FIELDS))
    for one, other in PAIRS:
        logits = logits + sum(0.36 * _normal(seed, d, ids[:, one]) * _normal(seed, d, ids[:, other]) for d in range(1, 1 + DIM))
    return np.asarray(1 / (1 + np.exp(-logits)))


def best_auc(p: NDArray[np.float64]) -> float:
    """Return the expected AUC of a model that predicts these probabilities where they are true."""
    p = np.sort(p)
    below = np.cumsum(1 - p) - (1 - p)
    return float((p * below).sum() / (p.sum() * (1 - p).sum() - (p * (1 - p)).sum()))


def _ids(numbers: NDArray[np.int64], field: int, seed: int) -> NDArray[np.int64]:
    ranks = np.searchsorted(_zipf(IDS >> (2 * field)), _uniform(seed, 50 + field, numbers))
    return (ranks + (field << 40)).astype(np.int64)


@cache
def _zipf(count: int) -> NDArray[np.float64]:
    """Cumulative probabilities."""
    weights = np.arange(1, count + 1) ** -1.05
    return np.asarray(np.cumsum(weights) / weights.sum())


def _normal(seed: int, draw: int, of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Box-Muller. `draw`: of several for the same numbers."""
    u, angle = _uniform(seed, 100 + 2 * draw, of), _uniform(seed, 101 + 2 * draw, of)
    return np.asarray(np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * angle))


def _uniform(seed: int, draw: int, of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return numbers in [0, 1), by hash."""
    return np.asarray((_mix(_mix(np.array([seed * 1000 + draw], np.uint64)) + of.astype(np.uint64)) >> np.uint64(11)) * 2.0**-53)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64. Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"."""
    x = x + _INCREMENT
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))
