"""Rules: a function each, as short as its formula, that applies gradients to rows.

A row is its weights w, then the state of its rule. All arithmetic is that of the rows, float32 in a table, one operation after
another; a sum inside a row is in float64. `rates`: the learning rate of each row; `places`: its place, below 0 for none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.compiling import AHEAD, kernel, prefetch
from gradstream.spec.tables import AdagradRule, AdamRule, AnyRule, FtrlRule, SgdRule


@kernel
def prefetch_next(rows: Any, places: Any, i: Any) -> None:
    if i + AHEAD < len(places):
        prefetch(rows, places[i + AHEAD])


@kernel
def sgd(rows: Any, places: Any, gradients: Any, rates: Any) -> None:
    """w -= lr g"""
    for i in range(len(places)):
        prefetch_next(rows, places, i)
        if places[i] >= 0:
            w, g = rows[places[i]], gradients[i]
            for j in range(len(g)):
                w[j] -= rates[i] * g[j]


@kernel
def adagrad(rows: Any, places: Any, gradients: Any, rates: Any, eps: Any) -> None:
    """s += g^2; w -= lr g / (sqrt s + eps). Source: Duchi, Hazan, Singer 2011."""
    for i in range(len(places)):
        prefetch_next(rows, places, i)
        if places[i] >= 0:
            g = gradients[i]
            w, s = rows[places[i], : len(g)], rows[places[i], len(g) :]
            for j in range(len(g)):
                s[j] += g[j] * g[j]
                w[j] -= rates[i] * g[j] / (np.sqrt(s[j]) + eps)


@kernel
def adagrad_rowwise(rows: Any, places: Any, gradients: Any, rates: Any, eps: Any) -> None:
    """s += mean g^2, one s per row; w -= lr g / (sqrt s + eps)"""
    for i in range(len(places)):
        prefetch_next(rows, places, i)
        if places[i] >= 0:
            w, g = rows[places[i]], gradients[i]
            squares = 0.0
            for j in range(len(g)):
                squares += np.float64(g[j]) * np.float64(g[j])
            w[len(g)] += rates.dtype.type(squares / len(g))
            divisor = np.sqrt(w[len(g)]) + eps
            for j in range(len(g)):
                w[j] -= rates[i] * g[j] / divisor


@kernel
def adam(rows: Any, places: Any, gradients: Any, rates: Any, eps: Any, b1: float, b2: float, updates: Any) -> None:
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps), t of the row's own.

    Source: Kingma, Ba 2015, applied to the rows of a push alone (lazy)."""
    real = rates.dtype.type
    for i in range(len(places)):
        prefetch_next(rows, places, i)
        if places[i] >= 0:
            g, row = gradients[i], rows[places[i]]
            w, m, v = row[: len(g)], row[len(g) : 2 * len(g)], row[2 * len(g) :]
            c1, c2 = real(1 - b1 ** np.float64(updates[i] + 1)), real(1 - b2 ** np.float64(updates[i] + 1))
            for j in range(len(g)):
                m[j] = real(b1) * m[j] + real(1 - b1) * g[j]
                v[j] = real(b2) * v[j] + real(1 - b2) * (g[j] * g[j])
                w[j] -= rates[i] * (m[j] / c1) / (np.sqrt(v[j] / c2) + eps)


@kernel
def ftrl(rows: Any, places: Any, gradients: Any, alpha: Any, beta: Any, l1: Any, l2: Any) -> None:
    """n' = n + g^2; z += g - (sqrt n' - sqrt n) / alpha w; w = -(z - sgn z l1) / ((beta + sqrt n') / alpha + l2), 0 if |z| <= l1

    Source: McMahan et al. 2013, "Ad click prediction: a view from the trenches"."""
    for i in range(len(places)):
        prefetch_next(rows, places, i)
        if places[i] >= 0:
            g, row = gradients[i], rows[places[i]]
            w, z, n = row[: len(g)], row[len(g) : 2 * len(g)], row[2 * len(g) :]
            for j in range(len(g)):
                before, n[j] = np.sqrt(n[j]), n[j] + g[j] * g[j]
                z[j] = z[j] + g[j] - (np.sqrt(n[j]) - before) / alpha * w[j]
                w[j] = 0 if abs(z[j]) <= l1 else -(z[j] - np.sign(z[j]) * l1) / ((beta + np.sqrt(n[j])) / alpha + l2)


def apply_rule(
    rule: AnyRule,
    rows: NDArray[Any],
    places: NDArray[np.int64],
    gradients: NDArray[Any],
    updates: NDArray[np.int64],
    staleness: NDArray[np.int64],
    factor: float,
) -> None:
    """Apply one gradient to each row. `updates`: of the row before; `staleness`: those since the gradient's values were looked up;
    `factor`: of the schedule, on the learning rate."""
    real = rows.dtype.type
    if isinstance(rule, FtrlRule):
        ftrl(rows, places, gradients, real(rule.alpha), real(rule.beta), real(rule.l1), real(rule.l2))
        return
    rates = np.full(len(places), rule.lr * factor, rows.dtype)
    if rule.damp:
        rates /= (staleness + 1).astype(rows.dtype)
    match rule:
        case SgdRule():
            sgd(rows, places, gradients, rates)
        case AdagradRule():
            (adagrad_rowwise if rule.rowwise else adagrad)(rows, places, gradients, rates, real(rule.eps))
        case AdamRule():
            adam(rows, places, gradients, rates, real(rule.eps), *rule.betas, updates)
