"""How fast a job is, from what its workers say."""

from __future__ import annotations

import pytest

from backend.metrics.throughput import Throughput


def told(*words: tuple[float, int, float], samples: int = 0) -> Throughput:
    """Of words (when, worker, samples per second)."""
    found = Throughput()
    for at, rank, rate in words:
        found.take(rank, rate, at)
        found.note(samples, at)
    return found


def test_workers_add_up() -> None:
    assert told((0.0, 0, 100.0), (0.1, 1, 50.0)).lately == 150.0


def test_who_has_left_counts_no_more() -> None:
    fast = [(0.5 * step, 0, 400.0) for step in range(20)]
    slow = [(4.0 * step, 1, 80.0) for step in range(10)]
    assert told(*sorted(fast + slow)).lately == 80.0


def test_who_speaks_rarely_still_counts() -> None:
    fast = [(0.5 * step, 0, 400.0) for step in range(239)]
    rare = [(0.0, 1, 10.0), (60.0, 1, 10.0)]
    assert told(*sorted(fast + rare)).lately == 410.0, "119 s, 59 after its last word"


def test_the_mean_is_from_the_first_word_to_the_last() -> None:
    found = Throughput()
    for at, samples in ((10.0, 32), (11.0, 132), (20.0, 1032)):
        found.take(0, 999.0, at)
        found.note(samples, at)
    assert found.mean == pytest.approx(100.0)


def test_a_job_that_was_done_at_the_first_word_is_as_fast_as_its_workers_say() -> None:
    assert told((0.0, 0, 70.0), (0.2, 1, 90.0), samples=320).mean == 160.0


def test_one_word_is_all_there_is() -> None:
    assert told((0.0, 0, 70.0), samples=32).mean == 70.0
    assert Throughput().mean is None
    assert Throughput().lately is None
