"""What a shard keeps does not grow with the pushes that it handles: a job may run for weeks."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from gradstream.center.shard import Shard
from tests.unit.center.shards import begun, push

PUSHES = 2000


def feed(to: Shard, first: int) -> None:
    for seq in range(first, first + PUSHES):
        for rank in range(2):
            push(to, rank, seq, base=to.center.version if to.center else 0)


@pytest.mark.more
@pytest.mark.parametrize("gate", ["asp", {"mode": "ssp", "bound": 3}, "bsp", {"mode": "asp", "max_staleness": 1}], ids=str)
def test_the_memory_of_a_shard_does_not_grow(gate: Any) -> None:
    to = begun(gate)
    feed(to, 1)  # what is made once
    gc.collect()
    tracemalloc.start()
    feed(to, 1 + PUSHES)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < PUSHES * 2, "bytes: less than one for each push"
