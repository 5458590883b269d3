"""Estimates from the distinct keys of some mini-batches: rows that more data makes, and rows that a worker's cache saves."""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

MAX_KEYS = 4_000_000
"""Keys of mini-batches that are kept to estimate from; later mini-batches are left out."""


class KeyCounts:
    """The distinct keys of mini-batches of one table, in order."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self._kept = 0

    def take(self, keys: NDArray[Any]) -> None:
        if self._kept + len(keys) <= MAX_KEYS:
            self.batches.append(keys.tolist())
            self._kept += len(keys)

    @property
    def distinct(self) -> int:
        return len({key for batch in self.batches for key in batch})

    @property
    def growth(self) -> float:
        """Return the exponent of Heaps' law between the first half of the mini-batches and all of them: distinct keys grow as
        samples ** growth. 0: no new ones come; 1: all are new."""
        half = len(self.batches) // 2
        first = len({key for batch in self.batches[:half] for key in batch})
        if not half or not first:
            return 1.0
        return min(1.0, math.log(self.distinct / first) / math.log(len(self.batches) / half))

    def cached(self, workers: int, rows: int | None, bound: int) -> float | None:
        """Return the share of looked-up rows that a cache saves, over the second half of the mini-batches. `workers` take them by
        turns, and each keeps the `rows` (None: all) that it used last. A copy is used while it lacks at most `bound` updates. None:
        there are too few mini-batches."""
        half = len(self.batches) // 2
        if half < workers:
            return None
        return saved_by_caches(self.batches, half, workers, rows, bound)


def saved_by_caches(batches: Sequence[Sequence[int]], first: int, workers: int, rows: int | None, bound: int) -> float:
    updates = defaultdict[int, int](int)
    caches = [OrderedDict[int, int]() for _ in range(workers)]
    """Updates that the row of each copy had, by worker; the copy that was used last is at the end."""
    used = saved = 0
    for number, batch in enumerate(batches):
        cache = caches[number % workers]
        for key in batch:
            copy = cache.pop(key, None)
            is_fresh = copy is not None and updates[key] - copy <= bound
            cache[key] = copy if is_fresh and copy is not None else updates[key]
            if number >= first:
                used, saved = used + 1, saved + is_fresh
        for key in batch:
            updates[key] += 1
        while rows is not None and len(cache) > rows:
            cache.popitem(last=False)
    return saved / used if used else 0.0


def rows_after(distinct: float, growth: float, seen: float, samples: float) -> float:
    """Return the keys that so many samples have, by Heaps' law. `distinct`: those of the samples that were `seen`."""
    return distinct * math.pow(max(samples, seen) / seen, growth)


def samples_until(distinct: float, growth: float, seen: float, rows: float) -> float:
    """Return the samples after which there are so many keys; infinity: never."""
    if rows <= distinct:
        return seen
    return math.inf if growth <= 0 else seen * math.exp(min(700.0, math.log(rows / distinct) / growth))
