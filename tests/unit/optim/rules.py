"""Rules by layer once more, in numpy, from the papers; they share nothing with `gradstream`. A call makes all steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def lars(w: Array, gs: Sequence[Array], *, lr: float, eta: float, momentum: float, decay: float) -> Array:
    v = np.zeros_like(w)
    for g in gs:
        length, steep = np.sqrt((w * w).sum()), np.sqrt((g * g).sum())
        local = eta * length / (steep + decay * length) if length and steep else 1.0
        v = momentum * v + lr * local * (g + decay * w)
        w = w - v
    return w


def adam_means(gs: Sequence[Array], betas: tuple[float, float]) -> tuple[Array, Array]:
    """Corrected means after all of `gs`, by their sums: no recurrence."""
    t = len(gs)
    found = []
    for beta, values in ((betas[0], gs), (betas[1], [g * g for g in gs])):
        weights = [(1 - beta) * beta ** (t - 1 - k) for k in range(t)]
        found.append(sum(weight * value for weight, value in zip(weights, values, strict=True)) / (1 - beta**t))
    return found[0], found[1]


def lamb(w: Array, gs: Sequence[Array], *, lr: float, betas: tuple[float, float], eps: float, decay: float) -> Array:
    for t in range(1, len(gs) + 1):
        mean, square = adam_means(gs[:t], betas)
        r = mean / (np.sqrt(square) + eps) + decay * w
        length, step = np.linalg.norm(w), np.linalg.norm(r)
        w = w - lr * (length / step if length and step else 1.0) * r
    return w


def adamw(w: Array, gs: Sequence[Array], *, lr: float, betas: tuple[float, float], eps: float, decay: float) -> Array:
    for t in range(1, len(gs) + 1):
        mean, square = adam_means(gs[:t], betas)
        w = w - lr * decay * w - lr * mean / (np.sqrt(square) + eps)
    return w


def muon(w: Array, gs: Sequence[Array], *, lr: float, momentum: float, nesterov: bool, decay: float, ns_steps: int) -> Array:
    """The polynomial acts on singular values alone, so they are found and mapped: no product of matrices as in Newton-Schulz."""
    u = np.zeros_like(w)
    for g in gs:
        u = momentum * u + g
        left, values, right = np.linalg.svd(g + momentum * u if nesterov else u, full_matrices=False)
        values = values / np.sqrt((values**2).sum())
        for _ in range(ns_steps):
            values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
        w = w - lr * decay * w - lr * 0.2 * np.sqrt(max(w.shape)) * (left * values) @ right
    return w
