"""How fast a job is, from what its first shard says."""

from __future__ import annotations

from backend.progress.throughput import Throughput
from gradstream.metrics import ACTIVE, APPLY, CPU, SLICE, STALENESS, Metric, Point


def applied(*changes: tuple[float, int], began: float = 100.0, silent: float = 0.0) -> Throughput:
    """Of changes of the center (when, samples); heard of at once, by a clock that is an hour ahead."""
    found = Throughput()
    for metric, when, samples in ((ACTIVE, began, 0), *((STALENESS, *change) for change in changes)):
        found.take(point(metric, when, samples), when + 3600)
        found.note(when + 3600 + silent)
    return found


def point(metric: Metric, when: float, samples: int) -> Point:
    return Point(metric.name, 0, 0, samples, 0, when, 1.0)


def test_it_is_samples_over_wall_clock_however_many_workers_there_are() -> None:
    found = applied(*((100.0 + step, 50 * step) for step in range(1, 21)))
    assert (found.mean, found.lately) == (50.0, 50.0)


def test_a_job_of_a_moment_has_its_true_rate() -> None:
    assert applied((100.5, 1200)).mean == 2400.0
    assert applied((100.5, 1200)).lately == 2400.0


def test_workers_that_have_ended_count_no_more() -> None:
    """For 60 s eight workers train 800 samples a second, then one alone 20."""
    fast = [(100.0 + step, 800 * step) for step in range(1, 61)]
    found = applied(*fast, *((160.0 + step, 48_000 + 20 * step) for step in range(1, 61)))
    assert found.lately == 20.0
    assert found.mean == (48_000 + 1200) / 120


def test_who_pushes_once_a_minute_has_a_rate() -> None:
    assert applied(*((100.0 + 60 * step, 600 * step) for step in range(1, 12))).lately == 10.0


def test_bursts_do_not_make_it_jump() -> None:
    """Four pushes at once every second."""
    changes = [(100.0 + second + 0.001 * push, 40 * second + 10 * push) for second in range(60) for push in range(1, 5)]
    rates = [applied(*changes[:count]).lately or 0.0 for count in range(100, 200)]
    assert max(rates) / min(rates) < 1.15


def test_a_job_that_stands_still_slows_down() -> None:
    steady = [(100.0 + step, 50 * step) for step in range(1, 21)]
    assert applied(*steady, silent=2.0).lately == 50.0
    assert (applied(*steady, silent=90.0).lately or 50.0) <= 5.5


def test_the_time_before_all_workers_are_there_does_not_count() -> None:
    found = Throughput()
    for early in (SLICE, APPLY, CPU):
        found.take(point(early, 10.0, 0), 10.0)
    assert (found.mean, found.lately, found.began) == (None, None, None)
    found.take(point(ACTIVE, 100.0, 320), 100.0)
    assert found.mean is None
    found.take(point(STALENESS, 102.0, 420), 102.0)
    assert found.mean == 50.0, "an attempt that was resumed from a checkpoint has not trained what is in the checkpoint"


def test_what_an_older_version_kept_is_read() -> None:
    old = Throughput.model_validate({"paces": {}, "began": [10.0, 32], "now": [20.0, 1032]})
    assert (old.mean, old.lately) == (100.0, 100.0)
