"""How long a job may take to store its model when it ends, as told by the sizes that its own code measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backend.progress.folding import fold
from backend.progress.state import Folded, seconds_to_store
from gradstream.metrics import SLICE, Point
from gradstream.process.store import SLOWEST

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def told(*sizes: float) -> dict[str, object]:
    batches = [(f"server-{rank}.0", [Point(SLICE.name, -1, 1, 0, 0, 1e9, size)]) for rank, size in enumerate(sizes)]
    return fold(Folded().model_dump(mode="json"), 1, batches, NOW)


def test_it_is_what_the_slowest_store_takes() -> None:
    assert seconds_to_store(told()) == 0
    assert seconds_to_store(told(3 * SLOWEST, 2 * SLOWEST)) == pytest.approx(5)


@pytest.mark.parametrize("size", [1e12, 1e99, 1e308, -1e99, float("nan"), float("inf")])
def test_no_size_that_code_tells_makes_it_more_than_an_hour(size: float) -> None:
    seconds = seconds_to_store(told(size, 1.0))
    assert 0 <= seconds <= 3600
    assert NOW + timedelta(seconds=seconds) <= NOW + timedelta(hours=1)
