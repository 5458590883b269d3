"""Laws of single rows in whole jobs: what was pushed is counted once, and rows are stale under asp only."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.sim import Result
from tests.unit.sim.test_tables import assert_same, job, rows, train
from tests.userland.planted_clicks import FIELDS, Clicks

NEVER = "1000000 samples"


def events(result: Result, name: str) -> tuple[float, float]:
    """Shows and clicks of all rows and candidates of a table."""
    columns = [shard["center"]["tables"]["tables"][name]["columns"] for shard in result.shards]
    total = sum(found[which].sum(0) for found in columns for which in ("events", "waiting_events"))
    return float(total[0]), float(total[1])


@pytest.mark.few(1)
@pytest.mark.parametrize("admit", [{}, {"admit": {"count": 3}}, {"admit": {"probability": 0.3}}, {"admit": {"score": 1.0}}])
@pytest.mark.parametrize("strategy", ["sync", "async", "local_sgd"])
def test_shows_are_the_occurrences_that_were_pushed(strategy: str, admit: dict[str, Any]) -> None:
    """Also those of keys that have no row, and of messages that came twice."""
    table = {"keep": {"decay": 0.9, "score": 0.1}, "shrink": NEVER, **admit}
    found = train(job(strategy, shards=3, tables={"default": table}), duplicates=0.3)
    dataset = Clicks().dataset("train")
    clicks = sum(float(dataset[i][1]) for i in range(2000))
    for name in ("wide", "deep"):
        assert events(found, name) == (2000 * FIELDS, clicks * FIELDS)


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", ["sync", "local_sgd"])
def test_under_bsp_no_row_is_stale(strategy: str) -> None:
    """`damp` divides a step by the staleness of its row plus 1."""
    plain, damped = (train(job(strategy, tables={"default": {"rule": rule(damp)}})) for damp in (False, True))
    assert_same(plain, damped)


def test_under_asp_rows_are_stale() -> None:
    plain, damped = (train(job("async", tables={"default": {"rule": rule(damp)}})) for damp in (False, True))
    assert rows(plain)["deep"].keys() == rows(damped)["deep"].keys()
    assert rows(plain) != rows(damped)


def rule(damp: bool) -> dict[str, Any]:
    return {"name": "sgd", "lr": 0.1, "damp": damp}
