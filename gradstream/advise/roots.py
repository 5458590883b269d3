"""When a linear recurrence settles: all roots of its characteristic polynomial lie inside the unit circle. Pure Python."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence

_POINTS_PER_TURN = 24
_REAL = 1e-7
_BISECTIONS = 60


def settles(polynomial: Sequence[float]) -> bool:
    """`polynomial`: coefficients from the highest power down. By the Schur-Cohn recursion, O(degree^2)."""
    p = list(polynomial)
    while len(p) > 1:
        first, last = p[0], p[-1]
        if abs(last) >= abs(first):
            return False
        reduced = [first * a - last * b for a, b in zip(p, reversed(p), strict=True)][:-1]
        size = max(map(abs, reduced))
        p = [a / size for a in reduced]
    return True


def smallest_crossing(gain: Callable[[complex], complex], turns: float) -> float | None:
    """For a polynomial A(z) + c B(z) that settles for small c > 0: the c at which it stops to, None if it never does.

    `gain` is -A/B: on the unit circle, where a root crosses it, it has the real value c. `turns` bounds how often its
    argument goes round while z goes from 1 to -1."""
    count = math.ceil(_POINTS_PER_TURN * (turns + 2))
    found: list[float] = []
    before = 0.0
    for k in range(1, count + 1):
        angle = math.pi * k / count
        low, high = _at(gain, before), _at(gain, angle)
        if low.real > 0 and high.real > 0 and low.imag * high.imag < 0:
            found.append(_at(gain, _between(gain, before, angle)).real)
        before = angle
    end = _at(gain, math.pi)
    if end.real > 0 and abs(end.imag) <= _REAL * abs(end):
        found.append(end.real)
    return min((c for c in found if c > 0), default=None)


def _between(gain: Callable[[complex], complex], low: float, high: float) -> float:
    sign = _at(gain, low).imag
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at(gain, middle).imag * sign > 0 else (low, middle)
    return low


def _at(gain: Callable[[complex], complex], angle: float) -> complex:
    return gain(cmath.exp(1j * max(angle, 1e-9)))


def first_failure(holds: Callable[[float], bool], until: float, points: int = 80) -> float:
    """The lowest x in (0, until] at which `holds` ends: 0 if it never begins, `until` if it never ends."""
    step, low = until / points, 0.0
    for k in range(1, points + 1):
        if not holds(k * step):
            break
        low = k * step
    else:
        return until
    high = low + step
    if low == 0.0 and not holds(step / 64):
        return 0.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
