"""Compile all kernels of embedding tables into the cache, once on a machine: `python -m gradstream.model.compile_kernels`.

It trains small tables of each rule, so that each kernel is called. It takes some 50 s of a core. With `--idle` it runs when no
other program wants that.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import numpy as np
import torch

from gradstream.center.tables import kernel_cache
from gradstream.center.tables.hashing import fill_first_values
from gradstream.center.tables.payload import joined_shards, shard_part
from gradstream.center.tables.storage.copying import TableCopy, pieces, put_piece
from gradstream.center.tables.summaries.sweep import TableSweep
from gradstream.model.rows.working_rows import WorkingRows
from gradstream.nn import Embedding, EmbeddingBag, TableOptimizer
from gradstream.spec import JobSpec

RULES: tuple[dict[str, Any], ...] = (
    {"rule": {"name": "sgd"}, "admit": {"probability": 0.5}, "keep": {"unseen": 1}},
    {"rule": {"name": "adagrad"}, "admit": {"count": 2}, "keep": {"score": 0.1, "decay": 0.9}},
    {"rule": {"name": "adam", "damp": True}, "admit": {"score": 0.1}},
    {"rule": {"name": "ftrl"}, "gradient": "sum"},
    {"rule": {"name": "adagrad", "rowwise": True}, "most": 1024, "memory": {"rows": 100}},  # the kind of fewest tables comes last
)


def main() -> None:
    if kernel_cache.WHEN_IDLE in sys.argv:
        with contextlib.suppress(AttributeError, OSError):  # not on each system
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    torch.set_num_threads(1)
    for rule in RULES:
        _train(rule)
    kernel_cache.mark_complete()


def _train(rule: dict[str, Any]) -> None:
    model = torch.nn.ModuleDict({"one": Embedding("one", 4), "bag": EmbeddingBag("bag", 2, mode="mean")})
    ids = torch.arange(3000).reshape(1000, 3) % 2800
    rows = TableOptimizer(model, {"default": rule})
    for part in (ids, ids, ids[:, :2]):  # with the last ones, rows on disk lie so far apart that they are written anew
        _backward(model, part)
        rows.step(clicks=torch.ones(1000))
    rows.shrink()
    other = TableOptimizer(model, {"default": rule})
    other.load_state_dict(rows.state_dict())
    _copy(rows, other)
    _look_up_for_a_worker(model, other, rule, ids)


def _copy(rows: TableOptimizer, into: TableOptimizer) -> None:
    """As a checkpoint does, and a shard that resumes; a summary; and the first values that a reader of exports needs."""
    for name, local in rows._tables.items():
        sweep = TableSweep(local.table)
        while not sweep.is_complete:
            sweep.read_portion()
        for above in (None, 0):
            for piece in pieces(TableCopy(local.table, above)):
                put_piece(into._tables[name].table, piece)
        fill_first_values(np.uint64(1), np.arange(2), np.float32(0.1), np.empty((2, 2), np.float32))


def _backward(model: torch.nn.ModuleDict, ids: torch.Tensor) -> None:
    (model["one"](ids).sum() + model["bag"](ids).sum()).backward()


def _look_up_for_a_worker(model: torch.nn.ModuleDict, hosts: TableOptimizer, rule: dict[str, Any], ids: torch.Tensor) -> None:
    """The lookups and gradients of a worker, with the parts of two shards."""
    job = {"name": "kernels", "workload": {"entrypoint": "none:None"}, "strategy": {"name": "async"}, "stop": {"steps": 1}}
    spec = JobSpec.model_validate(job | {"tables": {"default": rule}})
    rows = WorkingRows(model, spec)
    tables = {name: local.table for name, local in hosts._tables.items()}

    def look_up(keys: Any) -> Any:
        parts = [shard_part(keys, shard, 2) for shard in range(2)]
        return joined_shards([{name: tables[name].look_up(of_table.keys) for name, of_table in part.items()} for part in parts])

    rows.held.look_up = look_up
    rows.fetch({"one": ids[:10]})
    for _ in range(2):
        _backward(model, ids)
        rows.end_batch(len(ids))
    pushed = rows.take_gradients()
    for name, of_table in pushed.items():
        tables[name].push(of_table.keys, of_table.loans, of_table.gradients, np.asarray(of_table.occurrences), of_table.clicks)


if __name__ == "__main__":
    main()
