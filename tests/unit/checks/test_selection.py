"""Which cases of a test `make test` runs."""

from __future__ import annotations

import pytest

from tests.selection import spread


@pytest.mark.parametrize(
    ("count", "few", "kept"), [(10, 3, [0, 3, 6]), (4, 1, [0]), (4, 4, [0, 1, 2, 3]), (2, 5, [0, 1]), (65, 4, [0, 16, 32, 48])]
)
def test_cases_are_spread(count: int, few: int, kept: list[int]) -> None:
    assert list(spread(count, few)) == kept


class TestOfACase:
    @pytest.mark.few(2)
    @pytest.mark.parametrize("case", [0, 1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
    def test_the_others_are_left_to_more(self, case: int, request: pytest.FixtureRequest) -> None:
        assert (request.node.get_closest_marker("more") is not None) == (case in (1, 3))
