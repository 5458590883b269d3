"""Estimates from distinct keys, against what is counted one key at a time, and against planted laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradstream.advise.key_counts import KeyCounts, rows_after, samples_until, saved_by_caches


def counts(batches: list[np.ndarray]) -> KeyCounts:  # type: ignore[type-arg]
    found = KeyCounts()
    for batch in batches:
        found.take(np.unique(batch))
    return found


def test_growth_is_that_of_the_data() -> None:
    draw = np.random.default_rng(1)
    same = counts([np.arange(50)] * 10)
    assert (same.distinct, same.growth) == (50, 0)
    new = counts([np.arange(50 * n, 50 * n + 50) for n in range(10)])
    assert (new.distinct, new.growth) == (500, 1)
    zipf = [draw.zipf(1.5, 500) for _ in range(200)]
    found = counts(zipf[:20])
    told = rows_after(found.distinct, found.growth, 20, 200)
    assert told == pytest.approx(counts(zipf).distinct, rel=0.25)


def test_full_is_the_inverse_of_rows() -> None:
    assert rows_after(500, 0.5, 1000, 100_000) == pytest.approx(5000)
    assert samples_until(500, 0.5, 1000, 5000) == pytest.approx(100_000)
    assert samples_until(500, 0.5, 1000, 400) == 1000
    assert samples_until(500, 0.0, 1000, 501) == math.inf


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("bound", [0, 1, 4])
def test_caches_save_what_a_copy_for_each_worker_and_key_would(workers: int, bound: int) -> None:
    draw = np.random.default_rng(workers)
    batches = [np.unique(draw.zipf(1.4, 60) % 200).tolist() for _ in range(24)]
    used = saved = 0
    pushes: list[tuple[int, int]] = []  # mini-batch and key
    had: dict[tuple[int, int], int] = {}  # worker and key -> the mini-batch before which the row was read
    for number, batch in enumerate(batches):
        for key in batch:
            read = had.get((number % workers, key))
            lacks = None if read is None else sum(1 for at, other in pushes if other == key and at >= read)
            hit = lacks is not None and lacks <= bound
            if not hit:
                had[number % workers, key] = number
            if number >= 12:
                used, saved = used + 1, saved + hit
        pushes += [(number, key) for key in batch]
    assert saved_by_caches(batches, 12, workers, None, bound) == pytest.approx(saved / used)
    assert (saved > 0) == (bound > 0), "each worker changes what it reads"


def test_a_cache_keeps_the_rows_that_were_used_last() -> None:
    batches = [[1, 2, 3], [3, 4], [1], [4], [3]]
    assert saved_by_caches(batches, 2, 1, 2, 9) == pytest.approx(1 / 3), "1 went; 4 is there; 3 went as 1 came"
    assert saved_by_caches(batches, 2, 1, None, 9) == 1
