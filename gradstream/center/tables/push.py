"""Lookups, and what becomes of each key of a push.

A lookup changes nothing. It gives a *loan* for each key: the place, incarnation and updates of its row; incarnation 0 if there is
none. A push hands in loans with gradients. The gradient of a key is applied if it was taken at values of the key's row. That is
so if the row has the loan's incarnation; or if there was none, and keys need no admission: then values were the row's first.
Otherwise its occurrences are counted, and the gradient is not used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.cold.frames import frame_of, note_use
from gradstream.center.tables.cold.records import bring_back
from gradstream.center.tables.compiling import AHEAD, kernel, prefetch
from gradstream.center.tables.hashing import first_value, occurrences_needed
from gradstream.center.tables.index import EMPTY, GONE, IndexArrays, find, find_places
from gradstream.center.tables.payload import BY_KEY
from gradstream.center.tables.rows import RowArrays, free_candidate, make_row, take_place
from gradstream.center.tables.saving import ROWS, SavedArrays, is_ahead, save_candidate

APPLIED, COUNTED, MISSED, DROPPED = 0, 1, 2, 3
"""The outcome of a key. Missed: the loan is of another row than the key's. Counted: it had none. Dropped: the table is full."""
MAX_OCCURRENCES = 2**32 - 1
BY_NOTHING, BY_COUNT, BY_PROBABILITY, BY_SCORE = 0, 1, 2, 3


class Admitting(NamedTuple):
    """The condition of an admission, and the weights of the score."""

    kind: int
    least: float
    has_scores: bool
    unclicked: np.float32
    clicked: np.float32


class TableArrays(NamedTuple):
    """A table as kernels see it."""

    buckets: IndexArrays
    rows: RowArrays
    admitting: Admitting
    saved: SavedArrays


class PushArrays(NamedTuple):
    keys: NDArray[np.int64]
    loans: NDArray[Any]
    occurrences: NDArray[np.int64]
    clicks: NDArray[np.float32]
    mark: np.uint32
    time: np.uint32
    places: NDArray[np.int64]
    """Filled: where the weights to which the key's gradient is applied lie, or -1; updates of the row before; those of them since
    the loan."""
    updates: NDArray[np.int64]
    staleness: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    """Counted up: the keys of each outcome."""


@kernel
def score(events: Any, admitting: Any) -> Any:
    return admitting.unclicked * (events.shows - events.clicks) + admitting.clicked * events.clicks


@kernel
def look_up(table: Any, keys: Any, values: Any, loans: Any) -> Any:
    """Fill `values` and `loans`. An absent key reads as its first values, or 0 if it needs admission."""
    rows, metas, weights, frames = table.rows, table.rows.meta, table.rows.values, table.rows.frames
    find_places(table.buckets, keys, loans)
    for i in range(len(keys)):
        if i + AHEAD < len(keys) and loans[i + AHEAD].place >= 0:
            prefetch(metas, loans[i + AHEAD].place)
            prefetch(weights, loans[i + AHEAD].place)
        loan, found = loans[i], values[i]
        if loan.place >= 0:
            meta, row = metas[loan.place], weights[_frame_to_read(frames, weights, loan.place)]
            loan.incarnation, loan.updates = meta.incarnation, meta.updates
            for column in range(len(found)):
                found[column] = row[column]
        else:
            loan.place, loan.incarnation, loan.updates = -1, 0, 0
            for column in range(len(found)):
                found[column] = 0
                if table.admitting.kind == BY_NOTHING:
                    found[column] = first_value(rows.stream, keys[i], column, rows.reach)


@kernel
def _frame_to_read(frames: Any, weights: Any, place: Any) -> Any:
    """Bring a row to memory. Return where its weights lie."""
    if frames is None:
        return place
    at = frame_of(frames, place)
    if at >= 0:
        note_use(frames, at)
        return at
    return max(0, bring_back(frames, weights, place))  # who calls the kernel sees if it failed


@kernel
def bring_rows(table: Any, push: Any) -> None:
    """Bring the rows of a push to memory, before anything changes."""
    metas, weights, frames, used = table.rows.meta, table.rows.values, table.rows.frames, table.rows.places.counts[0]
    for i in range(len(push.keys)):
        if i + AHEAD < len(push.keys):
            prefetch(metas, push.loans[i + AHEAD].place)
            prefetch(frames.at, push.loans[i + AHEAD].place)
        loan = push.loans[i]
        place = loan.place
        if place < 0 or place >= used or metas[place].incarnation != loan.incarnation:
            _, slot = find(table.buckets, push.keys[i])
            place = np.int64(table.buckets.slots[slot].place) - 1
        if place >= 0 and metas[place].incarnation and frames.at[place] < 0:
            bring_back(frames, weights, place)


@kernel
def resolve(table: Any, push: Any, begin: Any) -> Any:
    """Decide about the keys from `begin` on. Return the number of keys that are decided; if less than all, the bucket that must
    grow first."""
    used = table.rows.places.counts[0]  # beyond it there is no row, whatever a loan says
    metas = table.rows.meta
    saved, until, next_bucket = table.saved, table.saved.until, table.saved.next_bucket
    for i in range(begin, len(push.keys)):
        if i + AHEAD < len(push.keys):
            prefetch(metas, push.loans[i + AHEAD].place)
        loan, place, outcome = push.loans[i], push.loans[i].place, APPLIED
        if place < 0 or place >= used or loan.incarnation == 0 or metas[place].incarnation != loan.incarnation:
            outcome, place, bucket = _find_anew(table, push, i)
            if bucket >= 0:
                return i, bucket
        push.outcomes[outcome] += 1
        push.places[i] = -1
        if place >= 0:
            meta, lies = table.rows.meta[place], frame_of(table.rows.frames, place)  # `bring_rows` has brought it to memory
            if meta.mark <= until and is_ahead(next_bucket, push.keys[i]):
                at = saved.counts[ROWS]  # as `save_row`, whose call for each row takes as long as all the rest
                saved.counts[ROWS] += 1
                saved.keys[at], saved.meta[at] = push.keys[i], meta
                if table.admitting.has_scores:  # else they are 0 there as here
                    saved.events[at] = table.rows.places.events[place]
                row, copied = table.rows.values[lies], saved.values[at]
                for column in range(len(copied)):
                    copied[column] = row[column]
            _see(table.admitting, meta, table.rows.places.events, place, push, i)
            if outcome == APPLIED:
                push.places[i], push.updates[i] = lies, meta.updates
                push.staleness[i] = np.uint32(meta.updates - loan.updates)
                meta.updates += np.uint32(1)
    return len(push.keys), -1


@kernel
def _find_anew(table: Any, push: Any, i: Any) -> Any:
    """A key whose loan names no row, one that is gone, or one by its key. Return outcome, place of its row or -1, bucket that must
    grow or -1."""
    index, rows, key = table.buckets, table.rows, push.keys[i]
    is_first = push.loans[i].incarnation == 0 and table.admitting.kind == BY_NOTHING
    bucket, slot = find(index, key)
    place, loan = np.int64(index.slots[slot].place) - 1, push.loans[i]
    if place >= 0:
        is_same = loan.place == BY_KEY and rows.meta[place].incarnation == loan.incarnation
        return (APPLIED if is_first or is_same else MISSED), place, -1
    is_new = index.slots[slot].place == EMPTY
    if is_new and index.used[bucket] >= index.limits[bucket]:
        return DROPPED, -1, bucket
    index.slots[slot].key = key
    if is_first:
        outcome, place = APPLIED, make_row(rows, key, push.mark, push.time)
        if place < 0:
            return DROPPED, -1, -1
        index.slots[slot].place = place + 1
        _forget_events(table.admitting, rows.places.events, place)
    else:
        outcome, place = _count(table, push, i, slot), np.int64(-1)
    if is_new and index.slots[slot].place != EMPTY:
        index.used[bucket] += 1
    return outcome, place, -1


@kernel
def _count(table: Any, push: Any, i: Any, slot: Any) -> Any:
    """Count a key without a row, and make its row if that admits it. Return the outcome."""
    rows, admitting, slots = table.rows, table.admitting, table.buckets.slots
    waiting, events = rows.candidate_places, rows.places.events
    candidate = -1 - np.int64(slots[slot].place)
    if slots[slot].place == EMPTY or slots[slot].place == GONE:
        candidate = take_place(waiting)
        if candidate < 0:
            return DROPPED
        slots[slot].place = -1 - candidate
        rows.candidates[candidate].occurrences = 0
        _forget_events(admitting, waiting.events, candidate)
    elif rows.candidates[candidate].mark <= table.saved.until:
        save_candidate(table, push.keys[i], candidate)
    held = rows.candidates[candidate]
    held.occurrences = min(np.int64(held.occurrences) + push.occurrences[i], MAX_OCCURRENCES)
    _see(admitting, held, waiting.events, candidate, push, i)
    if _is_admitted(table, push.keys[i], candidate):
        place = make_row(rows, push.keys[i], push.mark, push.time)
        if place >= 0:
            rows.meta[place].seen = push.time
            if admitting.has_scores:
                events[place].shows = waiting.events[candidate].shows
                events[place].clicks = waiting.events[candidate].clicks
            free_candidate(rows, candidate)
            slots[slot].place = place + 1
    return COUNTED


@kernel
def _is_admitted(table: Any, key: Any, candidate: Any) -> Any:
    admitting, rows = table.admitting, table.rows
    if admitting.kind == BY_COUNT:
        return rows.candidates[candidate].occurrences >= admitting.least
    if admitting.kind == BY_PROBABILITY:
        return rows.candidates[candidate].occurrences >= occurrences_needed(rows.stream, key, admitting.least)
    if admitting.kind == BY_SCORE:
        return score(rows.candidate_places.events[candidate], admitting) >= admitting.least
    return True


@kernel
def _see(admitting: Any, meta: Any, events: Any, place: Any, push: Any, i: Any) -> None:
    """Note a push of a row or a candidate."""
    meta.mark, meta.seen = push.mark, push.time
    if admitting.has_scores:
        events[place].shows += np.float32(push.occurrences[i])
        events[place].clicks += push.clicks[i]


@kernel
def _forget_events(admitting: Any, events: Any, place: Any) -> None:
    if admitting.has_scores:
        events[place].shows, events[place].clicks = 0, 0
