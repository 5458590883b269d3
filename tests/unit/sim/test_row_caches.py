"""Rows that workers keep from push to push, in whole jobs: no bound, no difference; a bound saves bytes and nothing else breaks."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.errors import InvalidWorkload
from gradstream.nn import TableOptimizer
from gradstream.sim import WorkerFailure
from tests.unit.sim.test_tables import HALF, KEPT, assert_same, job, made_and_evicted, rows, train
from tests.userland.planted_clicks import Clicks


def cached(tables: dict[str, Any], rows: int, bound: int) -> dict[str, Any]:
    return {name: {**tables.get(name, {}), "cache": {"rows": rows, "bound": bound}} for name in ("wide", "deep")}


@pytest.mark.few(1)
@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "asked"])
@pytest.mark.parametrize("kept", [40, 1000])
@pytest.mark.parametrize("tables", [KEPT, HALF], ids=["kept", "half"])
@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_a_bound_of_0_changes_no_bit(strategy: str, tables: dict[str, Any], kept: int, ahead: bool) -> None:
    """Also where rows are evicted and made again, and where few fit into a cache."""
    settings: dict[str, Any] = {"args": {"ahead": ahead}, "shards": 2, "stop": {"steps": 20}}
    without = train(job(strategy, tables=tables, **settings))
    cache = train(job(strategy, tables=cached(tables, kept, 0), **settings))
    assert_same(without, cache)
    assert made_and_evicted(without) == made_and_evicted(cache)


@pytest.mark.more
def test_a_bound_saves_bytes_and_the_table_learns() -> None:
    spec = {"workers": 2, "args": {"ahead": True}, "stop": {"epochs": 2}}
    without, cache = (train(job("sync", **spec, tables=cached({}, 10_000, bound))) for bound in (0, 4))
    assert cache.bytes.pulled < 0.6 * without.bytes.pulled, "with 0, a row that its own worker has changed comes again"
    assert set(rows(without)["deep"]) == set(rows(cache)["deep"])
    last = [sum(result.losses[0][-20:]) / 20 for result in (without, cache)]
    assert abs(last[0] - last[1]) < 0.05


@pytest.mark.more
def test_any_number_of_shards_repeats_and_deaths_give_the_same_bits() -> None:
    settings: dict[str, Any] = {"args": {"ahead": True}, "tables": cached(KEPT, 100, 3), "stop": {"steps": 20}}
    alone = train(job("sync", **settings))
    assert_same(alone, train(job("sync", shards=7, **settings), duplicates=0.3))
    failures = [WorkerFailure(11, 1)]
    assert_same(train(job("sync", **settings), failures=failures), train(job("sync", shards=3, **settings), failures=failures))


def test_a_script_has_no_cache() -> None:
    with pytest.raises(InvalidWorkload, match="cache of deep is for jobs, whose rows are at servers; remove it"):
        TableOptimizer(Clicks().model(), {"deep": {"cache": {"rows": 10}}})
