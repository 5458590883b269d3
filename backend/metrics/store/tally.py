"""Tallies: the count of each value among the points of a block. Distributions read them instead of the points. They exist only for
whole numbers with few distinct values, such as staleness. No database here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from backend.metrics.store.blocks import CHILDREN, POINTS
from backend.metrics.store.points import Array
from backend.metrics.store.pyramid import Place, top

TALLY = np.dtype([("value", "<f8"), ("count", "<i8")])
"""Finite values, rising."""
EMPTY = np.empty(0, TALLY)
MAX_VALUES = 256
"""Values that differ, in one tally; where there are more, or some are not whole, there is no tally and points are read."""


class Tallied(NamedTuple):
    blocks: dict[Place, Array | None]
    """Tallies of the blocks above level 0 that have grown."""
    whole: Array | None
    """The tally of the series."""


def of(values: Array) -> Array | None:
    """None: they have none."""
    finite = values[np.isfinite(values)]
    if (finite != np.floor(finite)).any():
        return None
    return _bounded(*np.unique(finite, return_counts=True))


def added(one: Array | None, other: Array | None) -> Array | None:
    if one is None or other is None:
        return None
    both = np.concatenate([one, other])
    both = both[np.argsort(both["value"], kind="stable")]
    starts = np.flatnonzero(np.diff(both["value"], prepend=np.nan) != 0)
    return _bounded(both["value"][starts], np.add.reduceat(both["count"], starts) if len(starts) else starts)


def _bounded(values: Array, counts: Array) -> Array | None:
    if len(values) > MAX_VALUES:
        return None
    found = np.empty(len(values), TALLY)
    found["value"], found["count"] = values, counts
    return found


def tails(count: int) -> list[Place]:
    """The blocks above level 0 that grow with the next points. More than those of `pyramid.tails`: a block of which one child has
    begun and none is full is made anew from that child, but its tally is not."""
    spans = ((level, POINTS * CHILDREN**level) for level in range(1, top(count) + 1)) if count else ()
    return [(level, count // span) for level, span in spans if count % span]


def grow(count: int, whole: Array | None, known: Mapping[Place, Array | None], values: Array) -> Tallied:
    """Add `values` to a series of `count`: beside `pyramid.grow`. `whole` is the tally of all of it (anything if it is empty),
    `known` those of its `tails`."""
    whole = whole if count else EMPTY
    end, highest = count + len(values), top(count) if count else -1
    parts: dict[tuple[int, int], Array | None] = {(0, len(values)): of(values)}
    found: dict[Place, Array | None] = {}
    for level in range(1, top(end) + 1):
        span = POINTS * CHILDREN**level
        for number in range(count // span, -(-end // span)):
            part = max(number * span - count, 0), min((number + 1) * span - count, len(values))
            if part not in parts:
                parts[part] = of(values[slice(*part)])
            kept = EMPTY if number * span >= count else whole if level > highest else known[level, number]
            found[level, number] = added(kept, parts[part])
    return Tallied(found, added(whole, parts[0, len(values)]))


def pack(tally: Array | None) -> bytes | None:
    """As it is: few are long enough to be worth compressing."""
    return None if tally is None else tally.tobytes()


def unpack(packed: bytes | None) -> Array | None:
    return None if packed is None else np.frombuffer(packed, TALLY)


def joined(packed: Sequence[bytes]) -> tuple[Array, Array]:
    """The rows of several, one after the other, and how many each has."""
    return np.frombuffer(b"".join(packed), TALLY), np.array([len(each) // TALLY.itemsize for each in packed], np.int64)
