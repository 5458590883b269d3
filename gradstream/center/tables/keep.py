"""Shrinks: decay of shows and clicks, and eviction of rows and candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.index import EMPTY, GONE
from gradstream.center.tables.push import score
from gradstream.center.tables.rows import USED, free_candidate, free_row
from gradstream.center.tables.saving import save_candidate, save_row

NEVER, UNLIMITED = 2**32, 2**31


class Keeping(NamedTuple):
    decay: np.float32
    least: float
    """Rows with a lower score are evicted; 0: none."""
    unseen: int
    most: int
    """Rows of one bucket."""


@kernel
def shrink(table: Any, keeping: Any, time: Any, gone_slots: Any, gone: Any) -> Any:
    """Decay and evict. Return how many rows and candidates are gone. `gone_slots`: is given the slots of keys that are gone, by
    bucket; without an eviction it stays as it is. `gone`: is given the evicted keys.

    Rows are judged in the order of their places, then the index is read in its own: both in the order of memory, which is some
    fifty times faster than one row after the other in the order of keys."""
    unworthy_rows = np.zeros(table.rows.places.counts[USED], np.uint8)
    unworthy_candidates = np.zeros(table.rows.candidate_places.counts[USED], np.uint8)
    found = _judge_rows(table, keeping, time, unworthy_rows) + _judge_candidates(table, keeping, time, unworthy_candidates)
    evicted = 0
    if found or keeping.most < UNLIMITED:
        for bucket in range(len(gone_slots)):
            alive, gone_slots[bucket], evicted = _evict_unworthy(table, bucket, unworthy_rows, unworthy_candidates, gone, evicted)
            if alive > keeping.most:
                surplus = _evict_lowest(table, bucket, alive, alive - keeping.most, gone[evicted:])
                gone_slots[bucket] += surplus
                evicted += surplus
    return evicted


@kernel
def _judge_rows(table: Any, keeping: Any, time: Any, unworthy: Any) -> Any:
    """Decay all rows. Mark those to evict, and return their number."""
    meta, events, found = table.rows.meta, table.rows.places.events, 0
    for place in range(len(unworthy)):
        if meta[place].incarnation:
            if table.admitting.has_scores:
                _decay(events[place], keeping.decay)
            if time - np.int64(meta[place].seen) >= keeping.unseen or (
                keeping.least > 0 and score(events[place], table.admitting) < keeping.least
            ):
                unworthy[place] = 1
                found += 1
    return found


@kernel
def _judge_candidates(table: Any, keeping: Any, time: Any, unworthy: Any) -> Any:
    """As `_judge_rows`; candidates leave only if they are unseen."""
    candidates, found = table.rows.candidates, 0
    for place in range(len(unworthy)):
        if candidates[place].occurrences:
            if table.admitting.has_scores:
                _decay(table.rows.candidate_places.events[place], keeping.decay)
            if time - np.int64(candidates[place].seen) >= keeping.unseen:
                unworthy[place] = 1
                found += 1
    return found


@kernel
def _evict_unworthy(table: Any, bucket: Any, unworthy_rows: Any, unworthy_candidates: Any, gone: Any, evicted: Any) -> Any:
    """Return the rows that stay in the bucket, its slots of keys that are gone, those of earlier shrinks included, and the keys in
    `gone` so far."""
    start, slots, alive, gone_slots = table.buckets.starts[bucket], table.buckets.slots, 0, 0
    until = table.saved.until
    for slot in range(start, start + table.buckets.sizes[bucket]):
        place = np.int64(slots[slot].place)
        if place > 0:
            if unworthy_rows[place - 1]:
                gone[evicted] = slots[slot].key
                evicted += 1
                if table.rows.meta[place - 1].mark <= until:
                    save_row(table, slots[slot].key, place - 1)
                free_row(table.rows, place - 1)
                slots[slot].place = GONE
            else:
                alive += 1
        elif place != EMPTY and place != GONE and unworthy_candidates[-1 - place]:
            gone[evicted] = slots[slot].key
            evicted += 1
            if table.rows.candidates[-1 - place].mark <= until:
                save_candidate(table, slots[slot].key, -1 - place)
            free_candidate(table.rows, -1 - place)
            slots[slot].place = GONE
        gone_slots += np.int64(slots[slot].place) == GONE
    return alive, gone_slots, evicted


@kernel
def _decay(events: Any, decay: Any) -> None:
    events.shows *= decay
    events.clicks *= decay


@kernel
def evict(table: Any, slot: Any) -> None:
    """Remove the row or the candidate of a slot."""
    place = np.int64(table.buckets.slots[slot].place)
    if place > 0:
        free_row(table.rows, place - 1)
    else:
        free_candidate(table.rows, -1 - place)
    table.buckets.slots[slot].place = GONE


@kernel
def _evict_lowest(table: Any, bucket: Any, alive: Any, count: Any, gone: Any) -> Any:
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
    for number, i in enumerate(order[:count]):
        gone[number] = keys[i]
        evict(table, held[i])
    return count
