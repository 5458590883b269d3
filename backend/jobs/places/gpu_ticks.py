"""The parts of GPUs that processes have, as ranges of numbers that Postgres keeps apart. Pure.

Each GPU of each node has 60 numbers of its own, one for each tick. A process with 1/k of a GPU has 60/k of them, which need not be
neighbors (docs/adr/0152-processes-share-a-gpu-by-ticks.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from uuid import UUID

from sqlalchemy.dialects.postgresql import Range

from gradstream.spec.values import GPU_TICKS

Tick = tuple[int, int]
"""A GPU's index on its node, and a part of it, from 0 to 59."""
TickRanges = Sequence[Range[Decimal]]
_NODE_BITS = 20
"""More than the ticks of the 10,000 GPUs that a node may have."""


def write_ticks(node_id: UUID, ticks: Collection[Tick]) -> list[Range[Decimal]]:
    """Return the ticks as few ranges of numbers, none of which any other node or GPU has."""
    first = node_id.int << _NODE_BITS
    found = list[list[int]]()
    for number in sorted(first + gpu * GPU_TICKS + tick for gpu, tick in ticks):
        if found and found[-1][1] == number:
            found[-1][1] = number + 1
        else:
            found.append([number, number + 1])
    return [Range(Decimal(low), Decimal(high)) for low, high in found]


def read_ticks(ranges: TickRanges) -> list[Tick]:
    """Return the ticks in their order."""
    mask = (1 << _NODE_BITS) - 1
    bounds = ((int(each.lower), int(each.upper)) for each in ranges if each.lower is not None and each.upper is not None)
    return [divmod(number & mask, GPU_TICKS) for low, high in bounds for number in range(low, high)]


def gpus_of(ranges: TickRanges, share: int) -> list[int]:
    """Return the GPU of each process that has 1/share of one."""
    ticks = Counter(gpu for gpu, _ in read_ticks(ranges))
    return [gpu for gpu in sorted(ticks) for _ in range(ticks[gpu] * share // GPU_TICKS)]


def choose_ticks(gpus: Sequence[int], share: int, taken: Iterable[Tick]) -> list[Tick]:
    """Return ticks for 1/share of each of these GPUs, one of which may stand there several times: free ones, as far as there are,
    and then taken ones, which Postgres refuses."""
    used = set(taken)
    chosen = list[Tick]()
    for gpu, count in Counter(gpus).items():
        ordered = sorted(((gpu, tick) for tick in range(GPU_TICKS)), key=lambda tick: tick in used)
        chosen += ordered[: count * GPU_TICKS // share]
    return chosen
