"""A copy of what changed in a table, as it is when the copy begins. It is made piece by piece, while the table goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.hashing import bucket_order, buckets_of
from gradstream.center.tables.saving import CANDIDATES, ROWS, SavedArrays, saved_arrays
from gradstream.center.tables.storage.contents import add_contents, events_matrix, read_contents, remove_keys
from gradstream.center.tables.storage.row_file import TablePiece
from gradstream.center.tables.storage.table_contents import TableContents
from gradstream.center.tables.table import EmbeddingTable

PIECE = 8192
"""Rows of a piece, about: a push waits while one is copied."""


class TableCopy:
    def __init__(self, table: EmbeddingTable, above: int | None, *, candidates: bool = True) -> None:
        """Copy the rows and candidates that changed at a mark above this one, and the keys that are gone since. None: copy all.
        The table's mark goes up, so that a later copy can begin above this one's. `candidates`: False copies rows alone; then a
        key whose row is gone counts as gone, also if it is a candidate again."""
        if table.complete_copy:
            table.complete_copy()  # a table has one copy at a time
        self._table, self._above, self.until, self.time = table, above or 0, table.mark, table.time
        self._candidates = candidates
        self._gone = _GoneKeys(table, above)
        rows = table.arrays.rows
        self._saved = saved_arrays(rows.values.shape[1], self.until, table.alive, table.waiting, table.buckets.start)
        table.arrays = table.arrays._replace(saved=self._saved)
        table.mark += 1
        table.complete_copy = self._complete
        self._at = self._saved_at = 0
        """Buckets that are copied, and of those that were saved the rows and candidates."""
        self._is_going_on = True
        self._ready: list[TablePiece] = []

    @property
    def is_complete(self) -> bool:
        """Every piece has been given."""
        return not self._ready and not self._is_going_on

    def next_piece(self) -> TablePiece:
        if not self._ready:
            self._ready.append(self._copy())
        return self._ready.pop(0)

    def drop(self) -> None:
        """Make no more of it."""
        self._ready.clear()
        self._end()

    def _complete(self) -> None:
        """Copy the rest now."""
        while self._is_going_on:
            self._ready.append(self._copy())

    def _copy(self) -> TablePiece:
        """Copy the next buckets; behind the last, what was saved."""
        table, begin = self._table, self._at
        if begin == len(table.buckets):
            return self._copy_saved()
        per_bucket = 1 + (table.alive + table.waiting) // len(table.buckets)
        self._at = min(len(table.buckets), begin + max(1, PIECE // per_bucket))
        self._saved.next_bucket[0] = table.buckets.start + self._at
        contents = self._wanted(read_contents(table, self._above, self.until, slice(begin, self._at)))
        return TablePiece(contents, self._gone.between(table.buckets.start + begin, table.buckets.start + self._at, contents))

    def _copy_saved(self) -> TablePiece:
        begin = self._saved_at
        self._saved_at += PIECE
        contents = self._wanted(_saved_contents(self._saved, slice(begin, self._saved_at), self._above))
        if self._saved_at >= self._saved.counts.max():
            self._end()
        return TablePiece(contents, np.empty(0, np.int64))

    def _wanted(self, contents: TableContents) -> TableContents:
        return contents if self._candidates else contents.rows_alone()

    def _end(self) -> None:
        if self._is_going_on:
            self._is_going_on = False
            self._table.arrays = self._table.arrays._replace(saved=saved_arrays(self._saved.values.shape[1]))
            self._table.complete_copy = None


class TablesCopy:
    """A copy of several tables, one after the other."""

    def __init__(self, tables: Mapping[str, EmbeddingTable], above: int | None, *, candidates: bool = True) -> None:
        """`tables`: by name; their marks are equal."""
        self._copies = {name: TableCopy(table, above, candidates=candidates) for name, table in tables.items()}
        self.until = next(iter(self._copies.values())).until
        self.is_whole = above is None
        self.times = {name: copy.time for name, copy in self._copies.items()}
        self.specs = {name: table.spec for name, table in tables.items()}
        self.nbytes = sum(table.nbytes for table in tables.values())
        """Bytes of it, or more."""

    @property
    def is_complete(self) -> bool:
        return all(copy.is_complete for copy in self._copies.values())

    def next_piece(self) -> tuple[str, TablePiece]:
        """Return the name of a table, and a piece of it."""
        name = next(name for name, copy in self._copies.items() if not copy.is_complete)
        return name, self._copies[name].next_piece()

    def drop(self) -> None:
        for copy in self._copies.values():
            copy.drop()


class _GoneKeys:
    """The keys that were gone when a copy began, by bucket."""

    def __init__(self, table: EmbeddingTable, above: int | None) -> None:
        """`above`: None: all rows are copied, and no keys that are gone."""
        if table.removed is None:
            table.removed = []
        parts = [keys for mark, keys in table.removed if above is not None and mark > above]
        keys = np.concatenate([np.empty(0, np.int64), *parts])
        self._keys = keys[bucket_order(keys)]
        self._buckets = buckets_of(self._keys)

    def between(self, begin: int, end: int, contents: TableContents) -> NDArray[np.int64]:
        """Return those of some buckets. Keys that came back are among the contents, or among what is saved, a later piece."""
        first, last = np.searchsorted(self._buckets, [begin, end])
        return np.setdiff1d(self._keys[first:last], np.concatenate([contents.keys, contents.waiting]))


def forget_removed(table: EmbeddingTable, until: int) -> None:
    """Forget the keys that were removed up to a mark, since no later copy needs them."""
    table.removed = [(mark, keys) for mark, keys in table.removed or () if mark > until]


def put_piece(table: EmbeddingTable, piece: TablePiece) -> None:
    """Put a piece in place of what the table has of its keys. Raises: as `add_contents`."""
    for keys in (piece.gone, piece.contents.keys, piece.contents.waiting):
        remove_keys(table, keys)
    add_contents(table, piece.contents)


def pieces(copy: TableCopy) -> Iterator[TablePiece]:
    """Yield what is left of a copy."""
    while not copy.is_complete:
        yield copy.next_piece()


def _saved_contents(saved: SavedArrays, some: slice, above: int) -> TableContents:
    rows, waiting = saved.counts[ROWS], saved.counts[CANDIDATES]
    newer, newer_waiting = saved.meta["mark"][:rows][some] > above, saved.candidates["mark"][:waiting][some] > above

    def of_rows(column: NDArray[Any]) -> NDArray[Any]:
        return column[:rows][some][newer]

    def of_candidates(column: NDArray[Any]) -> NDArray[Any]:
        return column[:waiting][some][newer_waiting]

    return TableContents(
        of_rows(saved.keys),
        of_rows(saved.values),
        of_rows(saved.meta["updates"]),
        of_rows(saved.meta["seen"]),
        of_rows(saved.meta["incarnation"]),
        events_matrix(of_rows(saved.events)),
        of_candidates(saved.waiting),
        of_candidates(saved.candidates["occurrences"]),
        of_candidates(saved.candidates["seen"]),
        events_matrix(of_candidates(saved.waiting_events)),
    )
