"""The tables of one shard: rounds of pushes, pushes that wait through a checkpoint, loans that lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gradstream.center.entries import Init, Join, Payload, Push
from gradstream.center.shard import Shard
from gradstream.center.tables.hashing import bucket_order, shards_of
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.payload import LOAN, FoundRows, RowGradients, RowKeys, of_kind, piece, shard_part
from gradstream.center.tables.storage.worker_rows import loaded_rows, saved_rows
from gradstream.errors import Invalid
from gradstream.sim.toys import job

ONE_KEY = np.ones(1, np.int64), np.zeros(1, np.float32)
"""Occurrences and clicks."""
SGD = {"user": {"rule": {"name": "sgd", "lr": 1.0}, "init": {"uniform": 0.0}}}


def hosted(tables: Mapping[str, Any] = SGD) -> HostedTables:
    return HostedTables(job({"name": "sync"}, tables=tables), {"user": 1}, 0)


def look_up(tables: HostedTables, keys: list[int]) -> FoundRows:
    return tables.look_up({"user": RowKeys(np.array(keys, np.int64))})["user"]


def values(tables: HostedTables, *keys: int) -> list[float]:
    return [float(value) for value in look_up(tables, list(keys)).values[:, 0]]


def gradients(found: FoundRows, of_keys: Mapping[int, float]) -> dict[str, RowGradients]:
    """For some of the keys that were looked up."""
    chosen: NDArray[np.int64] = np.array([found.keys.tolist().index(key) for key in of_keys])
    column = np.array(list(of_keys.values()), np.float32)[:, None]
    counts, clicks = np.ones(len(chosen), np.int64), np.zeros(len(chosen), np.float32)
    return {"user": RowGradients(found.keys[chosen], found.loans[chosen], column, counts, clicks)}


@pytest.mark.parametrize(("gradient", "expected"), [("mean", [-1.5, -0.5, 0.5]), ("sum", [-4.5, -4.0, 1.0])])
def test_a_round_makes_one_step_per_key_by_the_mean_over_all_examples(gradient: str, expected: list[float]) -> None:
    """Workers with 2, 6 and 8 examples; a worker that has not met a key counts as 0."""
    tables = hosted({"user": SGD["user"] | {"gradient": gradient}})
    found = look_up(tables, [1, 2, 3])
    parts = [{1: 1.0, 2: 4.0}, {1: 3.0}, {3: -1.0, 1: 0.5}]
    tables.push([(gradients(found, part), examples / 16) for part, examples in zip(parts, (2, 6, 8), strict=True)], 1.0)
    assert values(tables, 1, 2, 3) == expected
    assert tables.accounts["user"].applied == 3


def test_a_push_that_waits_for_its_round_counts_the_same_after_a_checkpoint() -> None:
    """Its loans: of a row as it is, of a row two updates behind, of a key without a row, and of one whose row came since."""
    first = hosted({"user": {"rule": {"name": "sgd", "lr": 1.0, "damp": True}, "init": {"uniform": 0.0}}})
    first.push([(gradients(look_up(first, [1, 2]), {1: 1.0, 2: 1.0}), 1.0)], 1.0)
    waits = gradients(look_up(first, [1, 2, 3, 4]), {1: 1.0, 2: 6.0, 3: 1.0, 4: 6.0})
    for _ in range(2):
        first.push([(gradients(look_up(first, [2, 4]), {2: 1.0, 4: 1.0}), 1.0)], 1.0)
    first.hold(0, waits)
    second = HostedTables.load(job({"name": "sync"}, tables={"user": first.tables["user"].spec}), first.state(), 0)
    for tables in (first, second):
        tables.push([(tables.take_held(0), 1.0)], 1.0)
    assert values(first, 1, 2, 3, 4) == values(second, 1, 2, 3, 4) == [-2.0, -5.0, -1.0, -4.0]
    assert first.accounts == second.accounts


def test_a_push_of_a_row_that_was_evicted_misses_also_after_a_checkpoint() -> None:
    first = hosted({"user": SGD["user"] | {"keep": {"unseen": 1}}})
    first.push([(gradients(look_up(first, [1]), {1: 1.0}), 1.0)], 1.0)
    waits = gradients(look_up(first, [1]), {1: 5.0})
    first.tables["user"].time += 2
    assert first.tables["user"].shrink() == 1
    first.push([(gradients(look_up(first, [1]), {1: 1.0}), 1.0)], 1.0)
    first.hold(0, waits)
    second = HostedTables.load(job({"name": "sync"}, tables={"user": first.tables["user"].spec}), first.state(), 0)
    for tables in (first, second):
        tables.push([(tables.take_held(0), 1.0)], 1.0)
        assert values(tables, 1) == [-1.0]
        assert tables.accounts["user"].missed == 1


@pytest.mark.parametrize("when", ["never", "before the checkpoint", "after the resume"])
def test_a_worker_that_resumes_with_its_rows_misses_one_that_was_made_again(when: str) -> None:
    """Also if the new row has as many updates as the old one had."""

    def evict_and_make_again(tables: HostedTables) -> None:
        tables.tables["user"].time += 2
        assert tables.tables["user"].shrink() == 1
        tables.push([(gradients(look_up(tables, [1]), {1: 1.0}), 1.0)], 1.0)

    first = hosted({"user": SGD["user"] | {"keep": {"unseen": 1}}})
    first.push([(gradients(look_up(first, [1]), {1: 1.0}), 1.0)], 1.0)
    of_worker = gradients(look_up(first, [1]), {1: 5.0})["user"]
    if when == "before the checkpoint":
        evict_and_make_again(first)
    second = HostedTables.load(job({"name": "sync"}, tables={"user": first.tables["user"].spec}), first.state(), 0)
    resumed = loaded_rows(RowGradients, saved_rows(of_worker))
    if when == "after the resume":
        evict_and_make_again(second)
    second.push([({"user": resumed}, 1.0)], 1.0)
    assert second.accounts["user"].missed == (when != "never")
    assert values(second, 1) == [-6.0 if when == "never" else -1.0]


@pytest.mark.parametrize("place", [10**12, 5, -7])
@pytest.mark.parametrize("incarnation", [0, 1, 2**32 - 1])
def test_a_loan_of_no_row_harms_no_row(place: int, incarnation: int) -> None:
    tables = hosted()
    tables.push([(gradients(look_up(tables, [1]), {1: 1.0}), 1.0)], 1.0)
    pushed = gradients(look_up(tables, [2]), {2: 1.0})
    pushed["user"].loans["place"], pushed["user"].loans["incarnation"] = place, incarnation
    tables.push([(pushed, 1.0)], 1.0)
    assert values(tables, 1) == [-1.0]
    assert values(tables, 2) == [-1.0 if incarnation == 0 else 0.0]


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(Invalid, match="no table 'users' among user"):
        hosted().look_up({"users": RowKeys(np.array([1]))})


def test_rows_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="not RowKeys"):
        of_kind(RowKeys, {"user": look_up(hosted(), [1])})


@pytest.mark.parametrize("width", [0, 1, 3])
def test_gradients_of_another_width_are_refused_before_a_kernel_reads_beyond_them(width: int) -> None:
    tables = HostedTables(job({"name": "sync"}, tables=SGD), {"user": 2}, 0)
    found = look_up(tables, [1, 2])
    lie = RowGradients(found.keys, found.loans, np.ones((2, width), np.float32), np.ones(2, np.int64), np.zeros(2, np.float32))
    with pytest.raises(Invalid, match=rf"gradients of shape \(2, {width}\) for 2 keys of width 2"):
        tables.check_push({"user": lie})


def test_keys_of_another_shard_are_refused_before_a_kernel_writes_beyond_the_index() -> None:
    two = job({"name": "sync"}, tables=SGD, roles={"server": {"count": 2}, "worker": {"count": 1}})
    tables, keys = HostedTables(two, {"user": 1}, 0), np.array([-(2**63), 2**62, 1, 2, 3, 2**63 - 1], np.int64)
    assert set(shards_of(keys, 2)) == {0, 1}
    pushed = RowGradients(keys, np.zeros(6, LOAN), np.ones((6, 1), np.float32), np.ones(6, np.int64), np.zeros(6, np.float32))
    with pytest.raises(Invalid, match="a key belongs to another shard"):
        tables.check_push({"user": pushed})
    tables.check_push(shard_part({"user": piece(pushed, bucket_order(keys))}, 0, 2))


def test_gradients_of_a_table_that_is_not_there_are_refused() -> None:
    tables = hosted()
    with pytest.raises(Invalid, match="there is no table 'item' among user"):
        tables.check_push({"item": gradients(look_up(tables, [1]), {1: 1.0})["user"]})


@pytest.mark.parametrize(("strategy", "finite"), [("async", True), ("async", False), ("sync", True)])
def test_a_shard_refuses_a_push_whose_rows_lie_whatever_becomes_of_it(strategy: str, finite: bool) -> None:
    shard = Shard(job({"name": strategy}, tables=SGD))
    shard.handle(Init(0, 0, tables=(("user", 2),)), Payload(torch.zeros(3)))
    shard.handle(Join(0, 0))
    lie = RowGradients(*(np.zeros(shape, dtype) for shape, dtype in ((1, np.int64), (1, LOAN), ((1, 1), np.float32))), *ONE_KEY)
    push = Push(0, 0, 1, 0, steps=1, examples=1, want="center", position=1, finite=finite)
    with pytest.raises(Invalid, match="of width 2"):
        shard.handle(push, Payload(torch.ones(3), rows={"user": lie}))
