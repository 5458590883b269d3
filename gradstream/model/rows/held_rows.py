"""The rows that a worker holds between two pushes: looked up once, and read by all models that its threads train.

Threads read without waiting for each other. Those that lack rows look them up one after another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.hashing import bucket_order
from gradstream.center.tables.payload import FoundRows, RowKeys, decoded_values, joined, piece
from gradstream.center.tables.storage.worker_rows import loaded_rows
from gradstream.errors import InvalidWorkload
from gradstream.nn import kernels
from gradstream.spec.tables import TableSpec
from gradstream.training.row_cache import RowCaches

LookUpRows = Callable[[Mapping[str, RowKeys]], Mapping[str, FoundRows]]


class HeldRows:
    """Arrays of rows are replaced, never changed, so a reader may keep one."""

    def __init__(self, specs: Mapping[str, TableSpec], widths: Mapping[str, int]) -> None:
        self._specs, self._widths = specs, widths
        self.caches: RowCaches | None = None
        """Rows that outlive a push; None: none do."""
        self.look_up: LookUpRows = _nowhere
        self.await_asked: Callable[[], None] = _at_once
        """Waits until the rows that the last push asked for are held, if it asked for any."""
        self.looked_up_late = 0
        """Keys that were looked up while the model waited; whoever reports them counts from 0 again."""
        self._rows: dict[str, FoundRows] = {}
        """Those looked up since the last push."""
        self._sorted: set[str] = set()
        """Tables whose rows lie in the order of their keys, since they were held: many rows, of which each forward reads few."""
        self._has_asked_rows = False
        """Some of the rows that are held came with the response to a push."""
        self.generation = 0
        """Changes when rows are forgotten: those that other processes have of an earlier one are forgotten, too."""
        self.lock = threading.Lock()
        """Held while a thread looks rows up."""

    def use_caches(self) -> None:
        """Keep rows from push to push, as tables say. For a worker, whose rows come from servers."""
        if any(spec.cache for spec in self._specs.values()):
            self.caches = RowCaches(self._specs, self._widths)

    def request(self, keys: Mapping[str, NDArray[np.int64]]) -> Mapping[str, RowKeys]:
        """Return what asks for the rows of these keys. `keys`: distinct ones of tables, in bucket order."""
        return self.caches.request(keys) if self.caches else {name: RowKeys(of_table) for name, of_table in keys.items()}

    def hold_asked(self, found: Mapping[str, FoundRows]) -> None:
        """Hold rows that came with the response to a push, for the mini-batches until the next push."""
        self._hold_more(found)
        self._has_asked_rows = True

    def forget_asked(self) -> None:
        """Forget rows that came with the response to a push, and those of caches: they are looked up anew."""
        if self._has_asked_rows:
            self.forget()
        if self.caches:
            self.caches.clear()

    def hold(self, found: Mapping[str, FoundRows]) -> None:
        """Use these rows instead of those that were looked up."""
        self._rows = {name: piece(decoded_values(rows), np.argsort(rows.keys)) for name, rows in found.items()}
        self._sorted = set(found)

    def keys(self) -> dict[str, RowKeys]:
        """Return the keys of the rows that were looked up, in bucket order."""
        return {name: RowKeys(rows.keys[bucket_order(rows.keys)]) for name, rows in self._rows.items()}

    def forget(self) -> None:
        """Forget the rows. No thread reads meanwhile."""
        self.generation += 1
        self._rows.clear()
        self._sorted.clear()
        self._has_asked_rows = False

    def saved(self) -> Mapping[str, FoundRows]:
        """Return the rows for a checkpoint. Rows that a push has asked for are left out, as `forget_asked` follows."""
        return {} if self._has_asked_rows else self._rows

    def load(self, saved: Mapping[str, Mapping[str, Any]]) -> None:
        self.forget()
        self._rows = {name: loaded_rows(FoundRows, columns) for name, columns in saved.items()}

    def rows_of(self, name: str, keys: NDArray[np.int64]) -> FoundRows:
        """Return the rows of distinct keys, in their order. `keys`: in bucket order."""
        if name not in self._rows or not np.array_equal(self._rows[name].keys, keys):
            self.add({name: keys})
        held = self._rows[name]
        if np.array_equal(held.keys, keys):
            return held
        if name in self._sorted:
            return piece(held, np.searchsorted(held.keys, keys))
        numbers = kernels.distinct(np.concatenate([held.keys, keys]), np.uint64(0))[1][len(held.keys) :]
        return piece(held, numbers)

    def add(self, wanted: Mapping[str, NDArray[np.int64]]) -> None:
        """Look up those keys that are not held. `wanted`: distinct keys of tables, in bucket order."""
        with self.lock:
            self.await_asked()
            missing = {name: self._missing(name, keys) for name, keys in wanted.items()}
            missing = {name: keys for name, keys in missing.items() if len(keys) or name not in self._rows}
            if missing:
                self.looked_up_late += sum(map(len, missing.values()))
                self._hold_more(self.look_up(self.request(missing)))

    def _hold_more(self, found: Mapping[str, FoundRows]) -> None:
        came = {name: decoded_values(rows) for name, rows in found.items()}
        for name, rows in (self.caches.complete(came) if self.caches else came).items():
            self._sorted.discard(name)
            self._rows[name] = joined([self._rows[name], rows]) if name in self._rows else rows

    def _missing(self, name: str, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        if name not in self._rows:
            return keys
        held = self._rows[name].keys
        if np.array_equal(held, keys):
            return keys[:0]
        if name in self._sorted:
            places = np.searchsorted(held, keys)
            return keys[(places == len(held)) | (held.take(places, mode="clip") != keys)] if len(held) else keys
        every: NDArray[np.int64] = kernels.distinct(np.concatenate([held, keys]), np.uint64(0))[0]
        return every[len(held) :]


def _at_once() -> None:
    """Waits for nothing."""


def _nowhere(keys: Mapping[str, RowKeys]) -> Any:
    raise InvalidWorkload(f"the tables {', '.join(keys)} are not hosted by any server here")
