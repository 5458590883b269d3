"""What a worker says of its speed, and of the cores that it runs on."""

from __future__ import annotations

import threading
import time

import pytest

from gradstream.model.core_share import OnCore, physical_cores
from worker_node.rate import Rate


def test_the_small_mini_batch_at_the_end_of_an_epoch_is_no_stall() -> None:
    """Shares of 100 examples in mini-batches of 16: the seventh has 4, and takes as long."""
    rate = Rate()
    rate.after(16, 9.0)
    told = [rate.after(4 if number % 7 == 6 else 16, 0.02) for number in range(1, 701)]
    assert min(told[100:]) > 0.95 * max(told[100:])
    assert told[-1] == pytest.approx(100 / 7 / 0.02, rel=0.02)


def test_the_first_push_took_the_start_of_the_process_and_counts_alone() -> None:
    rate = Rate()
    assert rate.after(16, 8.0) == 2.0
    assert rate.after(16, 0.1) == 160.0


def test_rare_pushes_are_averaged_over_four() -> None:
    rate = Rate()
    told = [rate.after(600, seconds) for seconds in (99.0, 60.0, 60.0, 60.0, 60.0, 6.0, 6.0, 6.0, 6.0)]
    assert told[4] == pytest.approx(10.0)
    assert told[-1] == pytest.approx(100.0)


def compute(on_core: OnCore, seconds: float, mini_batches: int, rest: float = 0.0) -> None:
    for position in range(mini_batches):
        on_core.begin(position)
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        time.sleep(rest)
        on_core.end(position)


def test_time_in_which_a_worker_does_not_run_is_not_on_a_core() -> None:
    on_core = OnCore()
    compute(on_core, 0.002, 1)
    assert on_core.share is None, "the first mini-batch warms up"
    compute(on_core, 0.002, 6, rest=0.02)
    assert on_core.share is not None
    assert 0 < on_core.share < 0.5


def test_work_of_another_thread_is_not_its_own() -> None:
    over = threading.Event()
    other = threading.Thread(target=lambda: [None for _ in iter(over.is_set, True)])
    other.start()
    on_core = OnCore()
    for position in range(4):
        on_core.begin(position)
        time.sleep(0.02)
        on_core.end(position)
    over.set()
    other.join()
    assert on_core.share is not None
    assert on_core.share < 0.5


def test_short_mini_batches_are_sampled() -> None:
    on_core = OnCore()
    measured = 0
    for position in range(1, 330):
        on_core.begin(position)
        measured += on_core._began is not None
        on_core.end(position)
    assert 10 <= measured <= 60


def test_physical_cores_are_counted() -> None:
    assert physical_cores() >= 1
