"""A table whose memory holds a tenth of its rows, against the same table all in memory.

Keys by Zipf: the frequent ones stay in memory, each lookup reads some of the others from the disk, and each push writes as many.
Both tables are given the same mini-batches in turn. Seconds of the wall clock, as a process may wait for its disk."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.cold.tier import ColdTier
from gradstream.center.tables.table import EmbeddingTable
from gradstream.spec.tables import TableSpec

ZIPF, IDS = 1.05, 4096 * 26
"""Exponent of the keys' frequencies; ids of a mini-batch."""
WIDTH = 16
WARM_UP = 150
"""Mini-batches in which memory fills with what is frequent."""
_PORTION = 50_000


def memory_ratios(rows: int, rounds: int, spec: dict[str, Any]) -> dict[str, float]:
    """Return the throughput with a tenth of the rows in memory, as a share of that with all; the share of looked-up rows that came
    from the disk; and the memory of both tables."""
    tables = {"all": _full(rows, spec), "tenth": _full(rows, {**spec, "memory": {"rows": rows // 10}})}
    rng = np.random.default_rng(0)
    weights = np.cumsum(np.arange(1, rows + 1) ** -ZIPF)
    spent: dict[str, list[float]] = {name: [] for name in tables}
    for number in range(WARM_UP + rounds):
        keys = np.unique(np.searchsorted(weights, rng.random(IDS) * weights[-1]).astype(np.int64))
        gradients = rng.normal(size=(len(keys), WIDTH)).astype(np.float32)
        for name, table in tables.items():
            seconds = _train(table, keys, gradients)
            if number >= WARM_UP:
                spent[name].append(seconds)
        if number == WARM_UP - 1:
            _tier(tables).take_lookups()
    looked_up, cold = _tier(tables).take_lookups()
    return {
        "bounded": min(spent["all"]) / min(spent["tenth"]),
        "from_disk": cold / looked_up,
        "bounded_memory": tables["tenth"].nbytes / tables["all"].nbytes,
    }


def _tier(tables: dict[str, EmbeddingTable]) -> ColdTier:
    tier = tables["tenth"].tier
    assert tier is not None
    return tier


def _full(rows: int, spec: dict[str, Any]) -> EmbeddingTable:
    table = EmbeddingTable("t", WIDTH, TableSpec.model_validate(spec))
    for first in range(0, rows, _PORTION):
        keys = np.arange(first, min(rows, first + _PORTION))
        _train(table, keys, np.zeros((len(keys), WIDTH), np.float32))
    return table


def _train(table: EmbeddingTable, keys: NDArray[np.int64], gradients: NDArray[np.float32]) -> float:
    """Look rows up and push their gradients. Return the seconds."""
    began = time.perf_counter()
    found = table.look_up(keys)
    table.push(keys, found.loans, gradients, np.ones(len(keys), np.int64))
    return time.perf_counter() - began
