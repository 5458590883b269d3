"""Which blocks of a model each stage of a pipeline has. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence

from gradstream.errors import InvalidWorkload

PLACE = "roles.worker.group.stages"


def stage_bounds(sizes: Sequence[int], count: int) -> list[int]:
    """Return the first block of each of `count` stages, and the number of blocks: stages with about as many parameters each, and
    at least one block. Raises: InvalidWorkload: there are fewer blocks than stages."""
    if len(sizes) < count:
        raise InvalidWorkload(
            f"{PLACE}: the model has {len(sizes)} blocks, too few for {count} stages; lower it, or override blocks(model) in the "
            "workload"
        )
    total, bounds, before = sum(sizes), [0], 0
    for index, size in enumerate(sizes[:-1], 1):
        before += size
        left, stages = len(sizes) - index, count - len(bounds)
        due = before * count >= total * len(bounds) or left == stages
        if stages and due and left >= stages:
            bounds.append(index)
    return [*bounds, len(sizes)]
