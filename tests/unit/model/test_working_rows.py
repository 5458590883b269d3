"""Rows that a model reads between two pushes: those that were given it, and those that it looks up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from gradstream import nn as gnn
from gradstream.center.tables.payload import LOAN, FoundRows, RowKeys
from gradstream.model.working_rows import WorkingRows
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
    rows.look_up = servers.look_up
    return model, rows, servers


def read(model: gnn.Embedding, ids: list[int]) -> list[int]:
    with torch.no_grad():
        found = model(torch.tensor(ids))
    assert torch.equal(found[:, 1], -found[:, 0])
    return [int(value) for value in found[:, 0]]


def test_held_rows_are_read_in_any_order_and_only_others_are_looked_up() -> None:
    model, rows, servers = make()
    rows.hold({"deep": rows_of(np.array([9, -3, 4, 100, 7]))})
    assert read(model, [7, 7, -3, 100]) == [7, 7, -3, 100]
    assert servers.asked == []
    assert read(model, [101, 4, -8, 9]) == [101, 4, -8, 9]
    assert servers.asked == [{101, -8}]
    assert read(model, [-8, 101, 4, 100, 50]) == [-8, 101, 4, 100, 50]
    assert servers.asked[1:] == [{50}]


def test_held_rows_of_no_key_are_looked_up() -> None:
    model, rows, servers = make()
    rows.hold({"deep": rows_of(np.array([], np.int64))})
    assert read(model, [3, 2]) == [3, 2]
    assert servers.asked == [{2, 3}]
    rows.hold({})
    assert read(model, [5]) == [5]


def test_the_keys_of_a_score_are_found_with_rows_of_zeros() -> None:
    model, rows, servers = make()
    seen: list[list[int]] = []
    keys = find_keys(rows, lambda: seen.extend([read(model, [5, 6]), read(model, [6, -1])]))
    assert seen == [[0, 0], [0, 0]]
    assert set(keys["deep"].keys.tolist()) == {5, 6, -1}
    assert servers.asked == []
