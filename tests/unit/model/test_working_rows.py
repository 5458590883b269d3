"""Rows that a model reads between two pushes: those that were given it, and those that it looks up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from gradstream import nn as gnn
from gradstream.center.tables.hashing import buckets_of
from gradstream.center.tables.payload import LOAN, FoundRows, RowKeys
from gradstream.model.rows.working_rows import WorkingRows
from tests.unit.sim.test_tables import job
from worker_node.evaluated_rows import find_keys


def value_of(keys: np.ndarray) -> np.ndarray:
    """A value that tells its key."""
    return np.stack([keys, -keys], axis=1).astype(np.float32)


def rows_of(keys: np.ndarray) -> FoundRows:
    return FoundRows(keys, value_of(keys), np.zeros(len(keys), LOAN))


class Servers:
    def __init__(self) -> None:
        self.asked: list[set[int]] = []

    def look_up(self, keys: Mapping[str, RowKeys]) -> dict[str, FoundRows]:
        self.asked += [set(of_table.keys.tolist()) for of_table in keys.values()]
        return {name: rows_of(of_table.keys) for name, of_table in keys.items()}


def make() -> tuple[gnn.Embedding, WorkingRows, Servers]:
    model, servers = gnn.Embedding("deep", 2), Servers()
    rows = WorkingRows(model, job("async", tables={}))
    rows.held.look_up = servers.look_up
    return model, rows, servers


def read(model: gnn.Embedding, ids: list[int]) -> list[int]:
    with torch.no_grad():
        found = model(torch.tensor(ids))
    assert torch.equal(found[:, 1], -found[:, 0])
    return [int(value) for value in found[:, 0]]


def test_held_rows_are_read_in_any_order_and_only_others_are_looked_up() -> None:
    model, rows, servers = make()
    rows.held.hold({"deep": rows_of(np.array([9, -3, 4, 100, 7]))})
    assert read(model, [7, 7, -3, 100]) == [7, 7, -3, 100]
    assert servers.asked == []
    assert read(model, [101, 4, -8, 9]) == [101, 4, -8, 9]
    assert servers.asked == [{101, -8}]
    assert read(model, [-8, 101, 4, 100, 50]) == [-8, 101, 4, 100, 50]
    assert servers.asked[1:] == [{50}]


def test_held_rows_of_no_key_are_looked_up() -> None:
    model, rows, servers = make()
    rows.held.hold({"deep": rows_of(np.array([], np.int64))})
    assert read(model, [3, 2]) == [3, 2]
    assert servers.asked == [{2, 3}]
    rows.held.hold({})
    assert read(model, [5]) == [5]


def test_the_keys_of_a_score_are_found_with_rows_of_zeros() -> None:
    model, rows, servers = make()
    seen: list[list[int]] = []
    keys = find_keys(rows, lambda: seen.extend([read(model, [5, 6]), read(model, [6, -1])]))
    assert seen == [[0, 0], [0, 0]]
    assert set(keys["deep"].keys.tolist()) == {5, 6, -1}
    assert servers.asked == []


def test_ids_named_ahead_are_read_in_any_order_also_if_others_follow() -> None:
    model, rows, servers = make()
    rows.fetch({"deep": torch.tensor([7, 7, -3, 100])})
    assert read(model, [7, 7, -3, 100]) == [7, 7, -3, 100]
    assert read(model, [100, -3, 7, 7]) == [100, -3, 7, 7]
    assert servers.asked == [{7, -3, 100}]
    assert read(model, [5, 100]) == [5, 100]
    rows.fetch({"deep": torch.tensor([100, 5, -3, 7, 8])})
    assert read(model, [100, 5, -3, 7, 8]) == [100, 5, -3, 7, 8]
    assert servers.asked[1:] == [{5}, {8}]


def test_ids_that_change_in_place_after_they_were_named_are_read_as_they_are() -> None:
    model, rows, servers = make()
    ids = torch.tensor([1, 2, 3])
    rows.fetch({"deep": ids})
    ids[1] = 9
    with torch.no_grad():
        assert model(ids)[:, 0].tolist() == [1, 9, 3]
    assert servers.asked == [{1, 2, 3}, {9}]


def test_a_padding_reads_0_whether_ids_were_named_or_not() -> None:
    servers, model = Servers(), gnn.Embedding("deep", 2, padding_idx=7)
    rows = WorkingRows(model, job("async", tables={}))
    rows.held.look_up = servers.look_up
    for named in (False, True):
        if named:
            rows.fetch({"deep": torch.tensor([7, 4, 7, -2])})
        assert read(model, [7, 4, 7, -2]) == [0, 4, 0, -2]
        rows.take_gradients()


def test_gradients_lie_in_bucket_order_after_one_forward_and_after_several() -> None:
    model, rows, _ = make()
    for forwards in (1, 3):
        for at in range(forwards):
            model(torch.arange(50 * at, 50 * at + 70)).sum().backward()
        rows.end_batch(70)
        [found] = rows.take_gradients().values()
        buckets = buckets_of(found.keys)
        assert (buckets[1:] >= buckets[:-1]).all()
        assert len(found.keys) == 50 * (forwards - 1) + 70
        assert found.occurrences.sum() == 70 * forwards
