"""The rows that a worker keeps, of a table of numbers that count up: no copy is older than the bound, and memory is bounded."""

from __future__ import annotations

import numpy as np
import pytest

from gradstream.center.tables.payload import LOAN, UNKNOWN, FoundRows, KnownKeys, newer_rows
from gradstream.training.row_cache import RowCache

MANY = 2000


class CountedTable:
    """Rows whose values are their updates, and whose incarnations may change."""

    def __init__(self) -> None:
        self.loans = np.zeros(MANY, LOAN)
        self.loans["incarnation"] = np.arange(MANY) % 5

    def look_up(self, wanted: KnownKeys, bound: int) -> FoundRows:
        loans = self.loans[wanted.keys]
        values = np.stack([wanted.keys, loans["updates"]], 1).astype(np.float32)
        return newer_rows(FoundRows(wanted.keys, values, loans), wanted, bound)


@pytest.mark.parametrize("bound", [0, 3])
@pytest.mark.parametrize("rows", [1, 60, 500])
def test_no_copy_is_older_than_the_bound_and_no_more_rows_are_kept(rows: int, bound: int) -> None:
    draw, table, cache = np.random.default_rng(rows + bound), CountedTable(), RowCache(rows, 2)
    for turn in range(200):
        keys = draw.permutation(np.unique(draw.zipf(1.3, 100) % MANY))
        found = cache.complete(table.look_up(cache.request(keys), bound))
        assert np.array_equal(found.keys, keys)
        assert np.array_equal(found.values[:, 0], keys)
        assert np.array_equal(found.values[:, 1], found.loans["updates"])
        assert np.array_equal(found.loans["incarnation"], table.loans["incarnation"][keys])
        behind = table.loans["updates"][keys] - found.loans["updates"]
        assert behind.max() <= bound
        assert len(cache) <= rows
        pushed = draw.permutation(keys)[: len(keys) // 2]
        table.loans["updates"][pushed] += 1
        table.loans["incarnation"][draw.integers(0, MANY, 3)] += 1  # evicted, and made again
        if turn == 150:
            cache.clear()
            assert len(cache) == 0
    assert cache.cached > 0


def test_rows_that_were_used_last_are_kept() -> None:
    table, cache = CountedTable(), RowCache(4, 2)
    for keys in ([1, 2, 3, 4], [1, 2], [5], [1]):
        wanted = np.array(keys)
        cache.complete(table.look_up(cache.request(wanted), 0))
    known = cache.request(np.array([1, 2, 3, 4, 5])).known
    assert (known != UNKNOWN).tolist() == [True, True, False, True, True]


def test_rows_that_were_not_asked_for_are_refused() -> None:
    table, cache = CountedTable(), RowCache(4, 2)
    came = table.look_up(cache.request(np.array([7, 8])), 0)
    cache.request(np.array([1, 2]))
    with pytest.raises(ValueError, match="2 rows came, and they are not those that a cache lacks of 2"):
        cache.complete(came)
