"""Shrinks: decay of shows and clicks, and eviction of rows and candidates, bucket by bucket."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.index import EMPTY, GONE
from gradstream.center.tables.push import score
from gradstream.center.tables.rows import free_place, free_row

NEVER, UNLIMITED = 2**32, 2**31


class Keeping(NamedTuple):
    decay: np.float32
    least: float
    """Rows with a lower score are evicted; 0: none."""
    unseen: int
    most: int
    """Rows of one bucket."""


@kernel
def shrink_bucket(table: Any, keeping: Any, bucket: Any, time: Any) -> Any:
    """Decay and evict in a bucket (counted from the first that is held). Return how many rows and candidates are gone."""
    start, size, slots, gone = table.buckets.starts[bucket], table.buckets.sizes[bucket], table.buckets.slots, 0
    alive = 0
    for slot in range(start, start + size):
        place = np.int64(slots[slot].place)
        if place > 0:
            alive += 1
            if table.admitting.has_scores:
                _decay(table.rows.places.events[place - 1], keeping.decay)
            if _is_unworthy(table, keeping, place - 1, time):
                _evict(table, slot)
                gone, alive = gone + 1, alive - 1
        elif place != EMPTY:
            if table.admitting.has_scores:
                _decay(table.rows.candidate_places.events[-1 - place], keeping.decay)
            if time - np.int64(table.rows.candidates[-1 - place].seen) >= keeping.unseen:
                free_place(table.rows.candidate_places, -1 - place)
                slots[slot].place = GONE
                gone += 1
    if alive > keeping.most:
        gone += _evict_lowest(table, bucket, alive, alive - keeping.most)
    return gone


@kernel
def _decay(events: Any, decay: Any) -> None:
    events.shows *= decay
    events.clicks *= decay


@kernel
def _is_unworthy(table: Any, keeping: Any, place: Any, time: Any) -> Any:
    if time - np.int64(table.rows.meta[place].seen) >= keeping.unseen:
        return True
    return keeping.least > 0 and score(table.rows.places.events[place], table.admitting) < keeping.least


@kernel
def _evict(table: Any, slot: Any) -> None:
    free_row(table.rows, np.int64(table.buckets.slots[slot].place) - 1)
    table.buckets.slots[slot].place = GONE


@kernel
def _evict_lowest(table: Any, bucket: Any, alive: Any, count: Any) -> Any:
    """Evict so many rows of a bucket: those of the lowest scores; of equal ones, those of the lowest keys."""
    slots, start = table.buckets.slots, table.buckets.starts[bucket]
    held = np.empty(alive, np.int64)
    keys, scores = np.empty(alive, np.int64), np.empty(alive, np.float32)
    found = 0
    for slot in range(start, start + table.buckets.sizes[bucket]):
        if slots[slot].place > 0:
            held[found], keys[found] = slot, slots[slot].key
            scores[found] = score(table.rows.places.events[np.int64(slots[slot].place) - 1], table.admitting)
            found += 1
    by_key = np.argsort(keys, kind="mergesort")
    order = by_key[np.argsort(scores[by_key], kind="mergesort")]
    for i in order[:count]:
        _evict(table, held[i])
    return count
