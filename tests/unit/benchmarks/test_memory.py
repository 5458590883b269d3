"""What the benchmark of memory says about its readings."""

from __future__ import annotations

import random

import pytest

from benchmarks.footprint import SPANS, trend
from benchmarks.memory import Readings
from benchmarks.running import Failed

HOUR = [3600 * k / 720 for k in range(720)]


def test_a_slope_is_mb_in_an_hour() -> None:
    found = trend(HOUR, [100 + 3 * at / 3600 for at in HOUR])
    assert found.slope == pytest.approx(3)
    assert found.error == pytest.approx(0, abs=1e-9)
    assert found.grows(2.5)
    assert not found.grows(3.5)
    assert (found.first, found.last) == (pytest.approx(100.12, abs=0.01), pytest.approx(102.87, abs=0.01))


def test_what_goes_up_and_down_does_not_grow() -> None:
    drawn = random.Random(0)
    found = trend(HOUR, [100 + 5 * drawn.random() for _ in HOUR])
    assert abs(found.slope) < found.error < 1.5
    assert not found.grows(1)


def test_a_program_that_came_later_held_nothing_before() -> None:
    readings = Readings()
    readings.add(0, {"API": 5})
    readings.add(1, {"API": 6, "worker": 7})
    readings.add(2, {"worker": 8})
    assert readings.programs == {"API": [5, 6, 0], "worker": [0, 7, 8]}


def test_too_few_readings_are_refused() -> None:
    readings = Readings()
    for at in range(SPANS + 3):
        readings.add(at, {"API": 5})
    assert set(readings.since(3)) == {"API"}
    with pytest.raises(Failed, match="give it more minutes"):
        readings.since(4)
