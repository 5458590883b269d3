"""How a series grows: the blocks that new points fill or begin, level by level. No database here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from backend.metrics.store import blocks
from backend.metrics.store.blocks import CHILDREN, POINTS
from backend.metrics.store.points import Array

Place = tuple[int, int]
"""Level and number of a block. A block of level 0 holds points, one of level k > 0 summaries of blocks of level k - 1."""


class Grown(NamedTuple):
    blocks: dict[Place, Array]
    """To be written: they replace those of the same place."""
    summary: Array
    """One, of the whole series."""


def top(count: int) -> int:
    """The level that has one block, for a series of `count` > 0 points."""
    level, made = 0, -(-count // POINTS)
    while made > 1:
        level, made = level + 1, -(-made // CHILDREN)
    return level


def tails(count: int) -> list[Place]:
    """The blocks that are not full and so change when points are added to `count`."""
    if not count:
        return []
    places, at, size = list[Place](), count, POINTS
    for level in range(top(count) + 1):
        if at % size:
            places.append((level, at // size))
        at, size = at // size, CHILDREN
    return places


def grow(count: int, summary: Array | None, known: Mapping[Place, Array], points: Array) -> Grown:
    """Add `points` to a series of `count`, whose `tails` are `known` and whose `summary` is that of all of it."""
    written: dict[Place, Array] = {}
    highest = top(count) if count else -1
    level, at, size, new = 0, count, POINTS, points
    while True:
        number, within = divmod(at, size)
        if level > highest and at:  # the level begins: so far one block below was all there is
            assert summary is not None
            kept = summary
        else:
            kept = known[level, number][:within] if within else new[:0]
        rows = np.concatenate([kept, new])
        for first in range(0, len(rows), size):
            written[level, number + first // size] = rows[first : first + size]
        starts = np.arange(0, len(rows), size)
        new = blocks.merged(rows if level else blocks.of_points(rows), starts)
        if number == 0 and len(new) == 1:
            return Grown(written, new)
        level, at, size = level + 1, number, CHILDREN
