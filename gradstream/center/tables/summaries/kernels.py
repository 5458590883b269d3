"""Loops over the rows of a table, and over its index, for a summary of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.push import score

HOTTEST = 20
AGES = 17
"""Bins of passes since the last push: 0, 1, 2 to 3, 4 to 7, ...; the last one has all from 2**15 on."""
SCORES = 24
LOWEST = -6
"""Bins of scores: below 2**LOWEST, then from each power of two to the next; the last one has all from 2**16 on."""


class RowCounts(NamedTuple):
    """Counts of the rows that were read so far, and the hottest of them, in no order."""

    rows: NDArray[np.int64]
    """One number: the rows."""
    ages: NDArray[np.int64]
    scores: NDArray[np.int64]
    held: NDArray[np.int64]
    """One number: how many of the hottest there are."""
    heats: NDArray[np.float64]
    places: NDArray[np.int64]
    incarnations: NDArray[np.uint32]


def nothing_counted() -> RowCounts:
    one, top = np.zeros(1, np.int64), HOTTEST
    bins = np.zeros(AGES, np.int64), np.zeros(SCORES, np.int64)
    return RowCounts(one, *bins, one.copy(), np.zeros(top), np.full(top, -1, np.int64), np.zeros(top, np.uint32))


@kernel
def count_rows(table: Any, time: Any, begin: Any, end: Any, counted: Any) -> None:
    """Count the rows at these places. The heat of a row is its shows, or its updates if the table has no scores."""
    meta, events, has_scores = table.rows.meta, table.rows.places.events, table.admitting.has_scores
    for place in range(begin, end):
        if meta[place].incarnation:
            counted.rows[0] += 1
            counted.ages[_age_bin(time - np.int64(meta[place].seen))] += 1
            heat = np.float64(meta[place].updates)
            if has_scores:
                heat = np.float64(events[place].shows)
                counted.scores[_score_bin(np.float64(score(events[place], table.admitting)))] += 1
            _keep_if_hot(counted, heat, place, meta[place].incarnation)


@kernel
def _keep_if_hot(counted: Any, heat: Any, place: Any, incarnation: Any) -> None:
    at = counted.held[0]
    if at < len(counted.heats):
        counted.held[0] += 1
    else:
        at = np.argmin(counted.heats)
        if heat <= counted.heats[at]:
            return
    counted.heats[at], counted.places[at], counted.incarnations[at] = heat, place, incarnation


@kernel
def _age_bin(age: Any) -> Any:
    found = 0
    while age > 0 and found < AGES - 1:
        age >>= 1
        found += 1
    return found


@kernel
def _score_bin(value: Any) -> Any:
    if not value >= 2.0**LOWEST:
        return 0
    return min(SCORES - 1, math.frexp(value)[1] - LOWEST)


@kernel
def find_keys(table: Any, first: Any, last: Any, wanted: Any, places: Any, keys: Any, found: Any) -> None:
    """Write the key of each of these places, if one of the buckets has it, and that it is found. `places`: sorted. `wanted`: flags
    of 1,024 remainders of places, which rule nearly all slots out."""
    slots = table.buckets.slots
    for bucket in range(first, last):
        start = table.buckets.starts[bucket]
        for slot in range(start, start + table.buckets.sizes[bucket]):
            place = np.int64(slots[slot].place) - 1
            if place >= 0 and wanted[place & 1023]:
                at = np.searchsorted(places, place)
                if at < len(places) and places[at] == place:
                    keys[at], found[at] = slots[slot].key, True
