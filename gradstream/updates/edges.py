"""Edges of the bins of magnitudes |x|, two per octave: [2^e, 1.5 * 2^e) and [1.5 * 2^e, 2^(e + 1)), for e from -126 to 127."""

from __future__ import annotations

import math

LOWEST_EXPONENT = -126
BINS = 2 * (127 - LOWEST_EXPONENT + 1)


def lower_edge(number: int) -> float:
    """Return the lower edge of a bin, which is the upper edge of the one before; `BINS`: the upper edge of the last one."""
    return math.ldexp(1.5 if number % 2 else 1.0, number // 2 + LOWEST_EXPONENT)
