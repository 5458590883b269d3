"""Rows that a worker keeps from push to push, so that only those come that have changed by more than a bound.

keys with what is known of their rows --> the shard leaves out rows that lack few enough updates --> the rest of the worker's
A row has the loan with which it came, so its staleness counts from there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.payload import KNOWN, LOAN, UNKNOWN, FoundRows, KnownKeys, RowKeys
from gradstream.spec.tables import TableSpec


class RowCache:
    """Rows of one table, at most so many: those used last."""

    def __init__(self, rows: int, width: int) -> None:
        self._keys, self._places = np.empty(0, np.int64), np.empty(0, np.int64)
        """Sorted, and the place of each."""
        self._values, self._loans = np.empty((rows, width), np.float32), np.empty(rows, LOAN)
        """By place; memory is used as places are."""
        self._used = np.empty(rows, np.int64)
        self._filled = self._clock = 0
        """Places that have been used, in order; and lookups so far."""
        self._wanted = self._wanted_places = np.empty(0, np.int64)
        self.looked_up = self.cached = 0
        """Rows that were looked up, and those of them that the cache had; whoever reports them counts from 0 again."""

    def __len__(self) -> int:
        return len(self._keys)

    def request(self, keys: NDArray[np.int64]) -> KnownKeys:
        """Return the keys with what is known of their rows. `complete` follows, or `clear`."""
        self._clock += 1
        self._wanted, self._wanted_places = keys, self._find(keys)
        known, has = np.full(len(keys), UNKNOWN, KNOWN), self._wanted_places >= 0
        places = self._wanted_places[has]
        for column in ("incarnation", "updates"):
            known[column][has] = self._loans[column][places]
        self._used[places] = self._clock
        return KnownKeys(keys, known)

    def complete(self, came: FoundRows) -> FoundRows:
        """Return the rows of all keys of the last request, and keep those that came. `came`: those that the cache lacks or whose
        copy is too old, in the order of the request. Raises: ValueError: others came."""
        keys, places = self._wanted, self._wanted_places
        fresh = np.isin(keys, came.keys)
        if not np.array_equal(keys[fresh], came.keys) or (places[~fresh] < 0).any():
            raise ValueError(f"{len(came.keys)} rows came, and they are not those that a cache lacks of {len(keys)}")
        values, loans = np.empty((len(keys), self._values.shape[1]), np.float32), np.empty(len(keys), LOAN)
        values[fresh], loans[fresh] = came.values, came.loans
        values[~fresh], loans[~fresh] = self._values[places[~fresh]], self._loans[places[~fresh]]
        self.looked_up, self.cached = self.looked_up + len(keys), self.cached + len(keys) - len(came.keys)
        self._keep(came, places[fresh])
        return FoundRows(keys, values, loans)

    def clear(self) -> None:
        self._keys, self._places, self._filled = self._keys[:0], self._places[:0], 0

    def _find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of each key, -1 of those that are not here."""
        if not len(self._keys):
            return np.full(len(keys), -1)
        at = np.searchsorted(self._keys, keys)
        here = self._keys.take(at, mode="clip") == keys
        return np.where(here, self._places.take(at, mode="clip"), -1)

    def _keep(self, came: FoundRows, places: NDArray[np.int64]) -> None:
        """`places`: those that the rows have, -1 of new ones."""
        new = np.flatnonzero(places < 0)
        free = self._free_places(len(new))
        new = new[: len(free)]  # more than may be kept at all
        places[new] = free
        order = np.argsort(came.keys[new])
        at = np.searchsorted(self._keys, came.keys[new][order])
        self._keys, self._places = np.insert(self._keys, at, came.keys[new][order]), np.insert(self._places, at, free[order])
        kept = np.flatnonzero(places >= 0)
        self._values[places[kept]], self._loans[places[kept]] = came.values[kept], came.loans[kept]
        self._used[places[kept]] = self._clock

    def _free_places(self, count: int) -> NDArray[np.int64]:
        """Return so many free places, or as many as rows of earlier lookups leave."""
        unused = np.arange(self._filled, min(self._filled + count, len(self._used)))
        self._filled += len(unused)
        if len(unused) == count:
            return unused
        used = self._used[self._places]
        oldest = np.argsort(used, kind="stable")[: count - len(unused)]
        oldest = oldest[used[oldest] < self._clock]
        freed = self._places[oldest]
        self._keys, self._places = np.delete(self._keys, oldest), np.delete(self._places, oldest)
        return np.concatenate([unused, freed])


class RowCaches:
    """The caches of the tables that have one."""

    def __init__(self, specs: Mapping[str, TableSpec], widths: Mapping[str, int]) -> None:
        self._caches = {name: RowCache(spec.cache.rows, widths[name]) for name, spec in specs.items() if spec.cache}

    def request(self, keys: Mapping[str, NDArray[np.int64]]) -> dict[str, RowKeys]:
        """See `RowCache.request`."""
        return {
            name: self._caches[name].request(of_table) if name in self._caches else RowKeys(of_table)
            for name, of_table in keys.items()
        }

    def complete(self, found: Mapping[str, FoundRows]) -> dict[str, FoundRows]:
        """See `RowCache.complete`. `found`: not encoded."""
        return {name: self._caches[name].complete(rows) if name in self._caches else rows for name, rows in found.items()}

    def clear(self) -> None:
        for cache in self._caches.values():
            cache.clear()

    def take_share(self) -> float | None:
        """Return the share of the rows looked up since the last call that the caches had; None: there are no caches, or no such
        rows."""
        looked_up, cached = (sum(getattr(cache, count) for cache in self._caches.values()) for count in ("looked_up", "cached"))
        for cache in self._caches.values():
            cache.looked_up = cache.cached = 0
        return cached / looked_up if looked_up else None
