"""The loss as a short line: bounded, and what it says is the mean of what came."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.progress.curve import MAX_POINTS, LossCurve


def test_points_stand_as_they_came_until_the_line_is_full() -> None:
    curve = LossCurve()
    for value in range(MAX_POINTS - 1):
        curve.take(float(value))
    assert curve.line == [float(value) for value in range(MAX_POINTS - 1)]
    curve.take(float(MAX_POINTS - 1))
    assert curve.line == [2 * place + 0.5 for place in range(MAX_POINTS // 2)]


@given(st.lists(st.floats(-1e6, 1e6), max_size=3000))
def test_each_place_is_the_mean_of_the_points_that_it_stands_for(values: list[float]) -> None:
    curve = LossCurve()
    for value in values:
        curve.take(value)
    assert len(curve.means) < MAX_POINTS
    assert len(curve.means) * curve.width + curve.count == len(values)
    for place, mean in enumerate(curve.means):
        part = values[place * curve.width : (place + 1) * curve.width]
        assert abs(mean - sum(part) / len(part)) <= 1e-3
