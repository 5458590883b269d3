"""How much of a job is done, and how long the rest takes."""

from __future__ import annotations

import pytest

from gradstream.metrics import ACTIVE, COMPUTE, DEALT, SHARE, Metric, Point
from gradstream.progress.process_summary import ProcessSummaries
from gradstream.progress.remaining import Remaining


def point(metric: Metric, rank: int, value: float, step: int = 0, time: float = 0.0) -> Point:
    return Point(metric.name, rank, step, 0, 0, time, value)


def job(*shares: int) -> tuple[Remaining, ProcessSummaries]:
    remaining = Remaining()
    for rank, share in enumerate(shares):
        remaining.take(point(SHARE, rank, share))
    return remaining, ProcessSummaries()


def train(found: ProcessSummaries, rank: int, until: float, pace: float, first: float = 100.0, step: int = 0) -> None:
    """A push for each mini-batch."""
    for number in range(int((until - first) * pace) + 1):
        found.take(f"worker-{rank}.0", 1, [point(COMPUTE, rank, 1 / pace, step + number + 1, first + number / pace)])


def test_nothing_is_said_before_anything_is_known() -> None:
    assert Remaining().done(ProcessSummaries()) is None
    remaining, found = job(100, 100)
    assert (remaining.done(found), remaining.seconds(found)) == (0.0, None)


def test_the_slowest_worker_says_how_long_it_takes() -> None:
    remaining, found = job(1000, 1000)
    train(found, 0, until=150.0, pace=10.0)
    train(found, 1, until=150.0, pace=1.0)
    assert remaining.done(found) == pytest.approx((501 + 51) / 2000)
    assert remaining.seconds(found) == pytest.approx(949, rel=0.01)


def test_the_end_of_the_fast_ones_changes_nothing() -> None:
    remaining, found = job(500, 500)
    train(found, 1, until=150.0, pace=1.0)
    train(found, 0, until=149.9, pace=10.0)
    before = remaining.seconds(found)
    remaining.take(point(ACTIVE, 0, 0.0, time=150.0))
    train(found, 1, until=160.0, pace=1.0, first=151.0, step=51)
    after = remaining.seconds(found)
    assert before is not None
    assert after is not None
    assert before - after == pytest.approx(10, abs=1.5)


def test_the_rest_of_the_share_of_a_worker_that_was_stopped_is_left_out() -> None:
    remaining, found = job(100, 1000)
    train(found, 0, until=104.9, pace=10.0)
    train(found, 1, until=104.9, pace=10.0)
    remaining.take(point(ACTIVE, 1, 0.0))
    assert remaining.done(found) == pytest.approx(100 / 150)
    assert remaining.seconds(found) == pytest.approx(5, rel=0.05)
    remaining.take(point(ACTIVE, 1, 1.0))
    assert remaining.done(found) == pytest.approx(100 / 1100)


def test_a_job_that_was_stopped_is_not_done() -> None:
    remaining, found = job(100, 1000)
    train(found, 0, until=109.95, pace=10.0)
    train(found, 1, until=104.9, pace=10.0)
    for rank in (0, 1):
        remaining.take(point(ACTIVE, rank, 0.0, time=200.0 + rank))
    assert remaining.done(found) == pytest.approx(150 / 1100)
    remaining.take(point(ACTIVE, 0, 0.0, time=300.0))
    assert remaining.done(found) == 1.0, "the other was stopped by hand, and the last one has trained its share"


def test_a_worker_that_gets_faster_is_believed_soon_and_not_at_once() -> None:
    remaining, found = job(10_000)
    train(found, 0, until=199.0, pace=1.0)
    slow = remaining.seconds(found)
    train(found, 0, until=210.0, pace=10.0, first=200.0, step=100)
    at_once = remaining.seconds(found)
    train(found, 0, until=400.0, pace=10.0, first=210.1, step=201)
    later = remaining.seconds(found)
    assert slow == pytest.approx(9900, rel=0.02)
    assert at_once is not None
    assert 2000 < at_once < 6000
    assert later == pytest.approx((10_000 - 2101) / 10, rel=0.1)


def test_a_worker_that_hangs_takes_longer() -> None:
    remaining, found = job(100)
    train(found, 0, until=149.0, pace=1.0)
    before = remaining.seconds(found)
    found.processes["worker-0"].at = 349.0
    after = remaining.seconds(found)
    assert before is not None
    assert after is not None
    assert after > 5 * before


def test_all_has_been_trained() -> None:
    remaining, found = job(10, 10)
    for rank in (0, 1):
        train(found, rank, until=109.0, pace=1.0)
        remaining.take(point(ACTIVE, rank, 0.0))
    assert (remaining.done(found), remaining.seconds(found)) == (1.0, 0.0)


def train_in_windows(found: ProcessSummaries, rank: int, paces: list[int]) -> None:
    """A push a second, each with so many mini-batches; every pace is that of a window of 10 s."""
    step, moment = 1, 100.0
    found.take(f"worker-{rank}.0", 1, [point(COMPUTE, rank, 1.0, step, moment)])
    for pace in (each for each in paces for _ in range(10)):
        step, moment = step + pace, moment + 1.0
        found.take(f"worker-{rank}.0", 1, [point(COMPUTE, rank, 1.0, step, moment)])


def test_the_bounds_are_those_of_slow_and_fast_windows() -> None:
    """Golden: of the paces 1 to 11 the 10th percentile is 2 and the 90th is 10, in any order; 661 mini-batches are trained."""
    remaining, found = job(661 + 1000)
    train_in_windows(found, 0, [6, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7])
    assert found.processes["worker-0"].paces == [6, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7]
    assert remaining.bounds(found) == pytest.approx((100.0, 500.0))
    seconds = remaining.seconds(found)
    assert seconds is not None
    assert 100.0 < seconds < 500.0


def test_a_steady_worker_has_no_spread_and_old_windows_are_forgotten() -> None:
    remaining, found = job(2000)
    train_in_windows(found, 0, [1] * 5 + [8] * 12)
    assert found.processes["worker-0"].paces == [8.0] * 12
    low, high = remaining.bounds(found) or (0.0, 0.0)
    assert low == pytest.approx((2000 - 1 - 50 - 960) / 8)
    assert high == remaining.seconds(found), "the speed of its older pushes still counts a little"


def test_bounds_need_three_windows_and_are_those_of_the_slowest() -> None:
    remaining, found = job(1000, 1000)
    train_in_windows(found, 0, [9, 9])
    assert remaining.bounds(found) is None
    train_in_windows(found, 1, [2, 2, 2])
    assert remaining.bounds(found) == pytest.approx(((1000 - 61) / 2,) * 2)
    for rank in (0, 1):
        remaining.take(point(ACTIVE, rank, 0.0))
    assert remaining.bounds(found) == (0.0, 0.0)


def test_the_estimate_of_a_worker_that_hangs_is_inside_of_its_bounds() -> None:
    remaining, found = job(1000)
    train_in_windows(found, 0, [4, 4, 4])
    found.processes["worker-0"].at += 300
    _, high = remaining.bounds(found) or (0.0, 0.0)
    assert high == remaining.seconds(found)
    assert high > 5 * (1000 - 121) / 4


def deal(remaining: Remaining, *counts: int) -> None:
    for metric, count in zip(DEALT, counts, strict=True):
        remaining.take(point(metric, -1, count))


def test_dealt_mini_batches_are_trained_by_all_together() -> None:
    remaining, found = job(500, 500)
    train(found, 0, until=150.0, pace=9.0)
    train(found, 1, until=150.0, pace=1.0)
    deal(remaining, 1000, 500, 0, 12, 3, 485)
    assert remaining.done(found) == 0.5
    assert remaining.seconds(found) == pytest.approx(50, rel=0.02)
    low, high = remaining.bounds(found) or (0.0, 0.0)
    assert low <= 50.5
    assert high >= 49.5


def test_nothing_is_left_of_dealt_mini_batches_at_the_end() -> None:
    remaining, found = job(500, 500)
    deal(remaining, 1000, 990, 10, 0, 0, 0)
    assert (remaining.done(found), remaining.seconds(found)) == (1.0, 0.0)
