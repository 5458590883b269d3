"""What is stored of metrics when batches come late or twice, or are removed while they are read."""

from __future__ import annotations

import math
import random
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from backend.metrics import export, keeping, repository
from backend.metrics.store import folding
from backend.platform import Platform
from gradstream.errors import NotFound
from tests.integration.backend.metrics import STEPS, chart, measured, store


def test_a_missing_block_is_an_error_and_moves_no_other_into_its_place(platform: Platform, trained: UUID) -> None:
    keeping.fold(platform.database, trained)
    with platform.database.transaction() as session:
        [series, *_] = repository.series(session, trained)
        wanted = [(series.id, 0, number) for number in range(3)]
        assert len(set(repository.blocks(session, wanted))) == 3
        session.execute(text("DELETE FROM metric_blocks WHERE series_id = :id AND level = 0 AND number = 1"), {"id": series.id})
        for read in (repository.blocks, repository.tallies):
            with pytest.raises(repository.BlockMissing, match=f"block 1 of level 0 of the metric series {series.id}"):
                read(session, wanted)


def test_an_export_during_which_metrics_are_removed_does_not_pass_for_complete(
    platform: Platform, trained: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PORTION", 10)
    monkeypatch.setattr(export, "ROW_GROUP", 1)
    parts = export.begin(platform.database, trained).csv()
    next(parts)
    keeping.forget(platform.database, trained)
    with pytest.raises(NotFound, match="removed while they were read"):
        list(parts)


def test_points_that_come_while_a_job_s_metrics_are_removed_can_be_drawn(
    api: httpx.Client, platform: Platform, trained: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = repository.forget_batches

    def late(*given: Any) -> int:
        monkeypatch.setattr(repository, "forget_batches", removed)
        store(platform, trained, 0, range(STEPS, STEPS + 2))
        return removed(*given)

    monkeypatch.setattr(repository, "forget_batches", late)
    keeping.forget(platform.database, trained)
    assert [one["columns"]["count"] for one in chart(api, trained, columns=1)["series"]] == [[2]]


@pytest.mark.more
def test_batches_that_come_late_and_twice_are_drawn_as_the_raw_points_say(
    api: httpx.Client, platform: Platform, job_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many orders: each column's extremes are those of all its points, whatever came when and how often."""
    monkeypatch.setattr(folding, "ENOUGH", 700)
    monkeypatch.setattr(folding, "ENOUGH_OF_EACH", 1)
    chosen = random.Random(5)
    starts = list(range(0, 1500, 30))
    came = [*starts, *chosen.sample(starts, 25)]
    chosen.shuffle(came)
    for first in came:
        store(platform, job_id, 0, range(first, first + 30))
    for columns in (1, 7, 50, 800):
        [drawn] = [one["columns"] for one in chart(api, job_id, columns=columns)["series"]]
        width = 1499 / columns
        for x, low, high, count in zip(drawn["x"], drawn["low"], drawn["high"], drawn["count"], strict=True):
            column = min(int(x / width), columns - 1)
            values = [measured(step, 0).value for step in range(1500) if min(int(step / width), columns - 1) == column]
            finite = [value for value in values if math.isfinite(value)]
            assert (low, high, count) == (min(finite, default=None), max(finite, default=None), len(values))
        assert sum(drawn["count"]) == 1500
