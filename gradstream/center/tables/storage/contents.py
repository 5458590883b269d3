"""All that a table holds, by bucket and then by key: for files, and for tables of other numbers of shards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.hashing import buckets_of
from gradstream.center.tables.index import EMPTY, GONE, find
from gradstream.center.tables.keep import evict
from gradstream.center.tables.rows import make_row, take_place
from gradstream.center.tables.storage.table_contents import TableContents
from gradstream.center.tables.table import EmbeddingTable
from gradstream.errors import Invalid, Unavailable

MAX_MARK = 2**32 - 1
_FULL, _PRESENT = -1, -2


def read_contents(
    table: EmbeddingTable,
    above: int = 0,
    until: int = MAX_MARK,
    buckets: slice = slice(None),
) -> TableContents:
    """A copy of the rows and candidates that changed last at a mark above the first one, and not above the second. `buckets`:
    counted from the first that is held."""
    rows = table.arrays.rows
    keys, codes = _sorted_slots(table, buckets)
    alive, waiting = codes > 0, codes < 0
    places, candidates = codes[alive] - 1, -1 - codes[waiting]
    marks, waiting_marks = rows.meta["mark"][places], rows.candidates["mark"][candidates]
    newer, newer_waiting = (marks > above) & (marks <= until), (waiting_marks > above) & (waiting_marks <= until)
    places, candidates = places[newer], candidates[newer_waiting]
    return TableContents(
        keys[alive][newer],
        table.values_of(places),
        rows.meta["updates"][places],
        rows.meta["seen"][places],
        rows.meta["incarnation"][places],
        events_matrix(rows.places.events[places]),
        keys[waiting][newer_waiting],
        rows.candidates["occurrences"][candidates],
        rows.candidates["seen"][candidates],
        events_matrix(rows.candidate_places.events[candidates]),
    )


def add_contents(table: EmbeddingTable, contents: TableContents) -> None:
    """Put those keys in that are of the table's buckets.

    Raises: Invalid: the rows are of another width or rule, or a key is there already. Unavailable: the table is full."""
    rows = table.arrays.rows
    if contents.values.shape[1:] != rows.values.shape[1:]:
        raise Invalid(
            f"table '{table.name}': stored rows have {contents.values.shape[1]} numbers, weights and state; "
            f"this table has {rows.values.shape[1]}; use the dim and the rule that they were stored with"
        )
    mine = _held(table, contents.keys)
    places = _insert_all(table, contents.keys[mine], is_row=True)
    table.put_values(places, contents.values[mine])
    rows.meta["updates"][places], rows.meta["seen"][places] = contents.updates[mine], contents.seen[mine]
    rows.meta["incarnation"][places] = contents.incarnations[mine]
    mine_waiting = _held(table, contents.waiting)
    candidates = _insert_all(table, contents.waiting[mine_waiting], is_row=False)
    rows.candidates["occurrences"][candidates] = contents.waiting_occurrences[mine_waiting]
    rows.candidates["seen"][candidates] = contents.waiting_seen[mine_waiting]
    rows.candidates["mark"][candidates] = table.mark
    if table.spec.has_scores:
        for events, held, given in (
            (rows.places.events, places, contents.events[mine]),
            (rows.candidate_places.events, candidates, contents.waiting_events[mine_waiting]),
        ):
            events["shows"][held], events["clicks"][held] = given[:, 0], given[:, 1]


def remove_keys(table: EmbeddingTable, keys: NDArray[np.int64]) -> None:
    """Remove the rows and candidates of these keys, as far as they are here."""
    gone_slots = np.zeros(len(table.buckets), np.int64)
    _remove(table.arrays, keys[_held(table, keys)], gone_slots)
    table.tidy(gone_slots)


def _sorted_slots(table: EmbeddingTable, buckets: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All keys by bucket, then key; their places, coded as in the index."""
    index = table.arrays.buckets
    keys, codes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start, size in zip(index.starts[buckets], index.sizes[buckets], strict=True):
        slots = index.slots[start : start + size]
        slots = slots[(slots["place"] != EMPTY) & (slots["place"] != GONE)]
        order = np.argsort(slots["key"])
        keys.append(slots["key"][order])
        codes.append(slots["place"][order].astype(np.int64))
    return np.concatenate(keys), np.concatenate(codes)


def events_matrix(events: NDArray[Any]) -> NDArray[np.float32]:
    return np.stack([events["shows"], events["clicks"]], axis=1)


def _held(table: EmbeddingTable, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    buckets = buckets_of(np.ascontiguousarray(keys, np.int64))
    return np.asarray((buckets >= table.buckets.start) & (buckets < table.buckets.stop))


def _insert_all(table: EmbeddingTable, keys: NDArray[np.int64], is_row: bool) -> NDArray[np.int64]:
    """Return the places of new rows, or new candidates."""
    places = np.empty(len(keys), np.int64)
    done, bucket = _insert(table.arrays, keys, places, 0, np.uint32(table.mark), np.uint32(table.time), is_row)
    while done < len(keys):
        if bucket == _PRESENT:
            raise Invalid(f"table '{table.name}' has key {keys[done]} already; load into a table that is empty")
        if bucket == _FULL:
            raise Unavailable(f"table '{table.name}' is full at {table.capacity:,} rows; give it a larger `capacity`")
        table.grow_bucket(bucket)
        done, bucket = _insert(table.arrays, keys, places, done, np.uint32(table.mark), np.uint32(table.time), is_row)
    return places


@kernel
def _insert(table: Any, keys: Any, places: Any, begin: Any, mark: Any, time: Any, is_row: Any) -> Any:
    """Return the number of keys that are in, and the bucket that must grow first or why that is less than all."""
    index, rows = table.buckets, table.rows
    for i in range(begin, len(keys)):
        bucket, slot = find(index, keys[i])
        is_new = index.slots[slot].place == EMPTY
        if not is_new and index.slots[slot].place != GONE:
            return i, _PRESENT
        if is_new and index.used[bucket] >= index.limits[bucket]:
            return i, bucket
        places[i] = make_row(rows, keys[i], mark, time) if is_row else take_place(rows.candidate_places)
        if places[i] < 0:
            return i, _FULL
        index.slots[slot].key, index.slots[slot].place = keys[i], places[i] + 1 if is_row else -1 - places[i]
        index.used[bucket] += is_new
    return len(keys), -1


@kernel
def _remove(table: Any, keys: Any, gone_slots: Any) -> None:
    """`gone_slots`: counts the slots of removed keys, by bucket."""
    for i in range(len(keys)):
        bucket, slot = find(table.buckets, keys[i])
        if table.buckets.slots[slot].place != EMPTY and table.buckets.slots[slot].place != GONE:
            evict(table, slot)
            gone_slots[bucket] += 1
