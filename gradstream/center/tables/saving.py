"""Rows as they were when a copy of their table began: saved before their first change since then.

A copy takes the buckets one after the other, between pushes. A row that a push changes before its bucket is copied would be too new
for it, so the push saves the row first. So does a shrink that evicts it. Marks tell which rows have changed: a copy is of all up to
its mark, and pushes carry a later one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.cold.records import copy_row
from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.hashing import mix
from gradstream.center.tables.memory import ReservedArray
from gradstream.center.tables.rows import CANDIDATE, EVENTS, META

ROWS, CANDIDATES = 0, 1
_SHIFT = np.uint64(54)


class SavedArrays(NamedTuple):
    """Columns of saved rows, then of saved candidates."""

    until: np.uint32
    """The mark of the copy; 0: none is made."""
    next_bucket: NDArray[np.int64]
    """Shape (1,): the first bucket that is not copied yet."""
    counts: NDArray[np.int64]
    """Rows and candidates that are saved."""
    keys: NDArray[np.int64]
    values: NDArray[np.float32]
    meta: NDArray[Any]
    events: NDArray[Any]
    waiting: NDArray[np.int64]
    candidates: NDArray[Any]
    waiting_events: NDArray[Any]


def saved_arrays(stride: int, until: int = 0, rows: int = 0, candidates: int = 0, first_bucket: int = 0) -> SavedArrays:
    """`stride`: numbers of a row, its state included. `rows`, `candidates`: as many as the table has; memory is used as they are
    saved. Raises: Unavailable."""

    def reserved(dtype: Any, *shape: int) -> NDArray[Any]:
        return ReservedArray("the copy of a table", dtype, shape).values

    return SavedArrays(
        np.uint32(until),
        np.array([first_bucket]),
        np.zeros(2, np.int64),
        reserved(np.int64, rows),
        reserved(np.float32, rows, stride),
        reserved(META, rows),
        reserved(EVENTS, rows),
        reserved(np.int64, candidates),
        reserved(CANDIDATE, candidates),
        reserved(EVENTS, candidates),
    )


@kernel
def save_row(table: Any, key: Any, place: Any) -> None:
    """Save a row that is about to change for the first time since the copy began, if its bucket is not copied yet."""
    saved = table.saved
    if is_ahead(saved.next_bucket, key):
        at = saved.counts[ROWS]
        saved.counts[ROWS] += 1
        saved.keys[at], saved.meta[at], saved.events[at] = key, table.rows.meta[place], table.rows.places.events[place]
        copy_row(table.rows, table.rows.frames, place, saved.values[at])


@kernel
def save_candidate(table: Any, key: Any, place: Any) -> None:
    """As `save_row`."""
    saved = table.saved
    if is_ahead(saved.next_bucket, key):
        at = saved.counts[CANDIDATES]
        saved.counts[CANDIDATES] += 1
        saved.waiting[at], saved.candidates[at] = key, table.rows.candidates[place]
        saved.waiting_events[at] = table.rows.candidate_places.events[place]


@kernel
def is_ahead(next_bucket: Any, key: Any) -> Any:
    """Return whether the bucket of the key is not copied yet."""
    return np.int64(mix(np.uint64(key)) >> _SHIFT) >= next_bucket[0]
