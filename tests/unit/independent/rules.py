"""Every algorithm once more, on Hermans' toy, in numpy, written from the papers. It knows nothing of Gradstream.

Asynchronous ones are told who comes when (`order`: a rank for each push). Synchronous ones run for `rounds`. `rate(samples)` is
the learning rate when so many samples are seen; every mini-batch has 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Rate = Callable[[int], float]

H, B = np.array([[10.0, 8.0], [8.0, 10.0]]), np.array([34.0, 38.0])
START = np.array([3.0, 4.0])
BATCH = 32


def g(x: Vector) -> Vector:
    return H @ x - B


def local(x: Vector, window: int, rate: Rate, seen: int, n: int) -> Vector:
    """Plain steps; all n workers are taken to train as fast."""
    for step in range(window):
        x = x - rate(seen + n * step * BATCH) * g(x)
    return x


Message = Callable[[Vector, int], Vector]
Apply = Callable[[Vector, Vector, int, Vector], Vector]


def asynchronous(n: int, order: Sequence[int], message: Message, apply: Apply, window: int = 1, drop_from: int = 10**9) -> Vector:
    center, version, seen = START, 0, 0
    pulled = [(START, 0, 0)] * n
    for i in order:
        base, at, seen_then = pulled[i]
        if version - at < drop_from:
            center = apply(center, message(base, seen_then), version - at, base)
            version, seen = version + 1, seen + window * BATCH
        pulled[i] = (center, version, seen)
    return center


def async_sgd(n: int, order: Sequence[int], lr: float, drop_from: int = 10**9) -> Vector:
    return asynchronous(n, order, lambda x, seen: g(x), lambda c, m, s, b: c - lr * m, drop_from=drop_from)


def dc_asgd(n: int, order: Sequence[int], lr: float, lam: float) -> Vector:
    return asynchronous(n, order, lambda x, seen: g(x), lambda c, m, s, b: c - lr * (m + lam * m * m * (c - b)))


def dc_asgd_adaptive(n: int, order: Sequence[int], lr: float, lam: float, decay: float, eps: float) -> Vector:
    mean_square = np.zeros(2)

    def apply(c: Vector, m: Vector, s: int, b: Vector) -> Vector:
        nonlocal mean_square
        mean_square = decay * mean_square + (1 - decay) * m * m
        return c - lr * (m + lam / np.sqrt(mean_square + eps) * m * m * (c - b))

    return asynchronous(n, order, lambda x, seen: g(x), apply)


def moved(n: int, window: int, rate: Rate) -> Message:
    return lambda x, seen: local(x, window, rate, seen, n) - x


def downpour(n: int, order: Sequence[int], window: int, rate: Rate) -> Vector:
    return asynchronous(n, order, moved(n, window, rate), lambda c, m, s, b: c + m, window)


def adag(n: int, order: Sequence[int], window: int, rate: Rate) -> Vector:
    return asynchronous(n, order, moved(n, window, rate), lambda c, m, s, b: c + m / window, window)


def dynsgd(n: int, order: Sequence[int], window: int, rate: Rate) -> Vector:
    return asynchronous(n, order, moved(n, window, rate), lambda c, m, s, b: c + m / (s + 1), window)


def distance(n: int, order: Sequence[int], window: int, rate: Rate, gamma: float) -> Vector:
    return asynchronous(n, order, moved(n, window, rate), lambda c, m, s, b: c + m / ((c - b) ** 2 / gamma + 1), window)


def delayed_diloco(n: int, order: Sequence[int], window: int, rate: Rate, k: int) -> Vector:
    gathered: list[Vector] = []
    b = np.zeros(2)

    def apply(c: Vector, m: Vector, s: int, base: Vector) -> Vector:
        nonlocal b
        gathered.append(-m)
        if len(gathered) < k:
            return c
        d = sum(gathered, np.zeros(2)) / k
        gathered.clear()
        b = 0.9 * b + d
        return c - 0.7 * (d + 0.9 * b)

    return asynchronous(n, order, moved(n, window, rate), apply, window)


def elastic(n: int, order: Sequence[int], window: int, alpha: float, delta: float, lr: float) -> Vector:
    """Each turn: an exchange, then a window; its first gradient is taken from where the worker stood before the exchange."""
    center = START
    x, v = [START] * n, [np.zeros(2)] * n
    for i in order:
        e = alpha * (x[i] - center)
        center = center + e
        for step in range(window):
            v[i] = delta * v[i] - lr * g(x[i] + delta * v[i])
            x[i] = x[i] + v[i] - (e if step == 0 else 0)
    return center


def elastic_rounds(n: int, rounds: int, window: int, alpha: float, lr: float) -> Vector:
    center, x = START, [START] * n
    for _ in range(rounds):
        es = [alpha * (one - center) for one in x]
        center = center + sum(es, np.zeros(2))
        for i in range(n):
            first = x[i] - lr * g(x[i]) - es[i]
            x[i] = local(first, window - 1, lambda seen: lr, 0, n)
    return center


def sync(n: int, rounds: int, rate: Rate) -> Vector:
    """Workers of the toy have one gradient: so has their mean."""
    return local(START, rounds, rate, 0, n)


def averaging(n: int, rounds: int, window: int, rate: Rate, mu: float = 0.0) -> Vector:
    """Local SGD, FedAvg and (mu > 0) FedProx."""
    center = START
    for r in range(rounds):
        x = center
        for step in range(window):
            x = x - rate(n * BATCH * (r * window + step)) * (g(x) + mu * (x - center))
        center = x
    return center


def diloco(n: int, rounds: int, window: int, rate: Rate) -> Vector:
    center, b = START, np.zeros(2)
    for r in range(rounds):
        d = center - local(center, window, rate, n * BATCH * r * window, n)
        b = 0.9 * b + d
        center = center - 0.7 * (d + 0.9 * b)
    return center


def geo_rounds(n: int, rounds: int, window: int, lr: float) -> Vector:
    center, latest, old = START, [START] * n, [START] * n
    for _ in range(rounds):
        d = []
        for i in range(n):
            latest[i] = local(latest[i], window, lambda seen: lr, 0, n)
            d.append((latest[i] - old[i]) / n)
        before = [old[i] + d[i] for i in range(n)]
        center = center + sum(d, np.zeros(2))
        latest, old = [latest[i] + center - before[i] for i in range(n)], [center] * n
    return center


def geo(n: int, order: Sequence[int], window: int, lr: float) -> Vector:
    center, latest, old = START, [START] * n, [START] * n
    for i in order:
        latest[i] = local(latest[i], window, lambda seen: lr, 0, n)
        d = (latest[i] - old[i]) / n
        center = center + d
        latest[i], old[i] = latest[i] + center - (old[i] + d), center
    return center
