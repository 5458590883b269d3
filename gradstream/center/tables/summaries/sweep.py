"""A summary of a table: its hottest rows, and how many rows have which score and age.

It reads every row, a portion at a time, so that no push waits for the whole. A row counts as it was when its portion was read. The
summary is exact if the table does not change meanwhile. Keys are in the index alone, which is read in a second round for the
hottest rows. A row that is gone by then is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradstream.center.tables.rows import USED
from gradstream.center.tables.summaries.kernels import count_rows, find_keys, nothing_counted
from gradstream.center.tables.table import EmbeddingTable

PORTION = 1 << 14
"""Places or slots that are read at a time: under a millisecond."""


@dataclass(frozen=True, slots=True)
class HotRow:
    key: int
    updates: int
    shows: float | None
    clicks: float | None
    score: float | None
    """None: the table has no scores."""


@dataclass(frozen=True, slots=True)
class RowSummary:
    rows: int
    """Those that were read: rows in memory."""
    hottest: tuple[HotRow, ...]
    """The hottest first: by shows, or by updates if the table has no scores."""
    ages: tuple[int, ...]
    """Rows by passes since their last push: see `AGES`."""
    scores: tuple[int, ...] | None
    """Rows by score: see `SCORES`."""


class TableSweep:
    def __init__(self, table: EmbeddingTable) -> None:
        self._table, self._counted = table, nothing_counted()
        self._at = self._bucket = 0
        self._order = np.empty(0, np.int64)
        """The hottest rows by place."""
        self._keys, self._found = np.empty(0, np.int64), np.empty(0, np.bool_)
        self._is_counted = False

    @property
    def is_complete(self) -> bool:
        return self._is_counted and self._bucket == len(self._table.buckets)

    def read_portion(self) -> None:
        if self._is_counted:
            self._find_keys()
        else:
            self._count()

    def _count(self) -> None:
        table, end = self._table, int(self._table.arrays.rows.places.counts[USED])
        until = min(end, self._at + PORTION)
        count_rows(table.arrays, table.time, self._at, until, self._counted)
        self._at = until
        if until == end:
            self._is_counted = True
            held = int(self._counted.held[0])
            self._order = np.argsort(self._counted.places[:held])
            self._keys, self._found = np.zeros(held, np.int64), np.zeros(held, np.bool_)

    def _find_keys(self) -> None:
        table, places = self._table, self._counted.places[self._order]
        per_bucket = 1 + int(table.arrays.buckets.sizes.mean())
        until = min(len(table.buckets), self._bucket + max(1, PORTION // per_bucket))
        wanted = np.zeros(1024, np.bool_)
        wanted[places & 1023] = True
        find_keys(table.arrays, self._bucket, until, wanted, places, self._keys, self._found)
        self._bucket = until

    def summary(self) -> RowSummary:
        """Return what was found, when all is read."""
        counted, meta, hottest = self._counted, self._table.arrays.rows.meta, list[HotRow]()
        for i in np.flatnonzero(self._found):
            place = int(counted.places[self._order[i]])
            if meta[place]["incarnation"] == counted.incarnations[self._order[i]]:
                hottest.append(self._hot_row(int(self._keys[i]), place))
        hottest.sort(key=lambda row: (-(row.updates if row.shows is None else row.shows), row.key))
        scores = tuple(counted.scores.tolist()) if self._table.spec.has_scores else None
        return RowSummary(int(counted.rows[0]), tuple(hottest), tuple(counted.ages.tolist()), scores)

    def _hot_row(self, key: int, place: int) -> HotRow:
        """As the row is now."""
        rows, updates = self._table.arrays.rows, int(self._table.arrays.rows.meta[place]["updates"])
        if not self._table.spec.has_scores:
            return HotRow(key, updates, None, None, None)
        events, weights = rows.places.events[place], self._table.arrays.admitting
        score = weights.unclicked * (events["shows"] - events["clicks"]) + weights.clicked * events["clicks"]
        return HotRow(key, updates, float(events["shows"]), float(events["clicks"]), float(score))
