"""Shrinks at the ends of passes: at the same place of the log on all shards, and after a resume."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.spec import JobSpec
from tests.unit.sim.test_tables import assert_same, evicted, job, train


def passes_job(strategy: str, shrink: str = "1 passes", **more: Any) -> JobSpec:
    """Passes of few mini-batches of each worker."""
    tables = {"default": {"keep": {"score": 0.35}, "shrink": shrink}}
    return job(strategy, args={"examples": 400}, batch_size=20, stop={"epochs": 6}, tables=tables, **more)


@pytest.mark.more
@pytest.mark.parametrize("strategy", ["sync", "async", "local_sgd"])
def test_the_same_rows_with_any_shards_and_after_a_resume(strategy: str) -> None:
    whole = train(passes_job(strategy), checkpoints={2})
    assert evicted(whole) > 0
    assert_same(train(passes_job(strategy, shards=3), checkpoints={2}), whole)
    assert_same(train(passes_job(strategy), resume=whole.checkpoints[2]), whole)


@pytest.mark.more
def test_a_pass_of_bsp_ends_with_the_samples_of_its_epoch() -> None:
    assert_same(train(passes_job("sync")), train(passes_job("sync", shrink="1 epochs")))


def test_each_second_pass() -> None:
    tables = train(passes_job("sync", "2 passes")).shards[0]["center"]["tables"]["tables"].values()
    assert [table["time"] for table in tables] == [3] * len(tables)


def test_jobs_that_count_no_passes_have_no_more_in_their_state() -> None:
    assert "passes" not in train(job("sync", args={"examples": 400}, stop={"steps": 2})).shards[0]
