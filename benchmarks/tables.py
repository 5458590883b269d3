"""Embedding tables in one process, as ratios measured in one run: `python -m benchmarks.tables --rows 1000000`.

Against `numpy.take` of as many known rows: lookups, and pushes of rows that were looked up, row-wise Adagrad of 16 weights. Against
torch's `nn.Embedding(sparse=True)` with its Adagrad, and fbgemm's kernels (`table_peers`): a click model of 26 ids and an MLP of
416-128-64-1. CPU seconds of this process, the least of several; all take turns, so that other load hits all alike. Copies for
checkpoints: see `table_copies`; a table that is bounded in memory: see `table_memory`. With `--jobs`, whole jobs: see
`table_asking`, `table_caching`."""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.common import table
from benchmarks.table_asking import asking_ratio
from benchmarks.table_caching import caching_ratios
from benchmarks.table_copies import copy_ratios
from benchmarks.table_memory import memory_ratios
from benchmarks.table_peers import FBGEMM, NO_PADDLE, fbgemm_rows
from gradstream import nn as gnn
from gradstream.center.tables import kernel_cache
from gradstream.center.tables.table import EmbeddingTable
from gradstream.model import compile_kernels
from gradstream.spec.tables import TableSpec

WIDTH, FIELDS, BATCH = 16, 26, 4096
CHUNK = 500_000
MINI_BATCH = 40_775
"""Distinct keys of a mini-batch of the click model."""
ROWWISE = {"rule": {"name": "adagrad", "rowwise": True, "lr": 0.05}}


def least(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """CPU seconds of each way, the least of `rounds` after one more; they take turns."""
    spent = defaultdict[str, list[float]](list)
    for _ in range(rounds + 1):
        for name, run in ways.items():
            began = time.process_time()
            run()
            spent[name].append(time.process_time() - began)
    return {name: min(seconds[1:]) for name, seconds in spent.items()}


def table_ratios(rows: int, batch: int, rounds: int) -> dict[str, float]:
    """Lookups and pushes as shares of `numpy.take`'s speed; bytes of a row as a multiple of its floats."""
    rng = np.random.default_rng(0)
    found = EmbeddingTable("t", WIDTH, TableSpec.model_validate(ROWWISE))
    keys = rng.integers(-(2**63), 2**63 - 1, rows)
    for first in range(0, rows, CHUNK):
        part = keys[first : first + CHUNK]
        zeros = np.zeros((len(part), WIDTH), np.float32)
        found.push(part, found.look_up(part).loans, zeros, np.ones(len(part), np.int64))
    gradients, ones = rng.normal(size=(batch, WIDTH)).astype(np.float32), np.ones(batch, np.int64)
    known = found.arrays.rows.values[: found.alive]
    batches = [keys[rng.choice(rows, batch, replace=False)] for _ in range(rounds + 1)]
    places = [rng.integers(0, found.alive, batch) for _ in batches]
    turn = {"look": 0, "push": 0, "take": 0}

    def next_of(name: str, among: list[Any]) -> Any:
        turn[name] += 1
        return among[(turn[name] - 1) % len(among)]

    looked = [found.look_up(part) for part in batches]

    def push() -> None:
        lookup = next_of("push", looked)
        found.push(lookup.keys, lookup.loans, gradients, ones)

    spent = least(
        {
            "take": lambda: np.take(known, next_of("take", places), axis=0),
            "look": lambda: found.look_up(next_of("look", batches)),
            "push": push,
        },
        rounds,
    )
    memory = found.nbytes / found.alive / (4 * known.shape[1])
    ratios = {"lookup": spent["take"] / spent["look"], "push": spent["take"] / spent["push"], "memory": memory}
    return ratios | copy_ratios(found, keys, min(MINI_BATCH, rows))


class Ctr(nn.Module):
    def __init__(self, embedding: nn.Module) -> None:
        super().__init__()
        self.embedding = embedding
        self.top = nn.Sequential(
            nn.Linear(FIELDS * WIDTH, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.top(self.embedding(ids).flatten(1))
        return out


def model_seconds(rows: int, rounds: int) -> tuple[dict[str, float], str]:
    """CPU seconds of a step with torch's sparse gradients, a table, and fbgemm's rows, or the reason why these are absent."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    batches = [torch.randint(0, rows, (BATCH, FIELDS), generator=generator) for _ in range(4)]
    labels, turn = torch.rand(BATCH, generator=generator).round(), defaultdict[str, int](int)
    theirs, ours = Ctr(nn.Embedding(rows, WIDTH, sparse=True)), Ctr(gnn.Embedding("t", WIDTH))
    sparse, tables = torch.optim.Adagrad(theirs.embedding.parameters(), lr=0.05), gnn.TableOptimizer(ours, {"t": ROWWISE})
    with torch.enable_grad():
        for first in range(0, rows, CHUNK):
            ours.embedding(torch.arange(first, min(rows, first + CHUNK))).sum().backward()
            tables.step()

    def step_of(name: str, model: Ctr, rows_step: Callable[[], Any], clear: Callable[[], Any]) -> Callable[[], None]:
        dense = torch.optim.Adagrad(model.top.parameters(), lr=0.05)

        def step() -> None:
            turn[name] += 1
            loss = nn.functional.binary_cross_entropy_with_logits(model(batches[turn[name] % len(batches)]), labels)
            dense.zero_grad()
            clear()
            loss.backward()
            dense.step()
            rows_step()

        return step

    ways = {
        "torch": step_of("torch", theirs, sparse.step, sparse.zero_grad),
        "table": step_of("table", ours, tables.step, tables.zero_grad),
    }
    fixed = fbgemm_rows(rows, WIDTH, 0.05)
    if isinstance(fixed, str):
        return least(ways, rounds), fixed
    ways["fbgemm"] = step_of("fbgemm", Ctr(fixed), lambda: None, lambda: None)
    return least(ways, rounds), ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the table that is compared with numpy.take")
    parser.add_argument("--keys", type=int, default=100_000, help="distinct keys of a lookup")
    parser.add_argument("--model-rows", type=int, default=1_000_000, help="rows of the click model")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jobs", action="store_true", help="jobs, too: rows that pushes ask for, and caches of rows; some minutes")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not kernel_cache.is_complete():
        compile_kernels.main()  # else the work that runs only once, a shrink, would count its compilation
    ratios = table_ratios(args.rows, min(args.keys, args.rows), args.rounds)
    seconds, no_fbgemm = model_seconds(args.model_rows, args.rounds)
    ratios |= memory_ratios(Ctr, (BATCH, FIELDS), args.rows, args.rounds, ROWWISE)
    if args.jobs:
        ratios["asked"] = asking_ratio(1.0, 100, 3)
        ratios["cache_bytes"], ratios["cache_auc"] = caching_ratios(4, 100_000)
    if args.json:
        print(json.dumps({"ratios": ratios, "seconds": seconds, "absent": {"fbgemm": no_fbgemm, "paddle": NO_PADDLE}}, indent=1))
        return
    rows = [
        (f"lookup of {args.keys:,} of {args.rows:,} rows", "numpy.take", f"{ratios['lookup']:.2f}", "at least 0.3"),
        ("push of rows that were looked up", "numpy.take", f"{ratios['push']:.2f}", "at least 0.25"),
        ("memory of a row", "its floats with state", f"{ratios['memory']:.2f}", "at most 1.9"),
        ("bytes of an increment, a tenth of the rows", "of all", f"{ratios['increment']:.3f}", "at most 0.15"),
        ("longest exchange during a checkpoint", "p99 otherwise", f"{ratios['checkpoint']:.2f}", "at most 2"),
        ("longest exchange during an export", "p99 otherwise", f"{ratios['export']:.2f}", "at most 2"),
        ("longest of 2,000 exchanges otherwise", "p99 otherwise", f"{ratios['alone']:.2f}", ""),
        ("a shrink that evicts nothing", "p99 otherwise", f"{ratios['shrink']:.2f}", "at most 2"),
        ("step of the click model", "torch, sparse=True", f"{seconds['torch'] / seconds['table']:.2f}", "at least 1.4"),
        ("the same", FBGEMM, no_fbgemm or f"{seconds['fbgemm'] / seconds['table']:.2f}", "at least 0.85"),
        ("the same, async, 2 workers and a server", "Paddle 2.6.2, sparse_embedding", NO_PADDLE, "at least 2.0"),
    ]
    rows += [
        ("step of the click model, a tenth of the rows in memory", "all", f"{ratios['bounded']:.2f}", "at least 0.5"),
        ("lookup and push alone, a tenth of the rows in memory", "all", f"{ratios['bounded_exchange']:.2f}", ""),
        ("looked-up rows that came from the disk", "all looked up", f"{ratios['from_disk']:.2f}", ""),
        ("memory of that table", "all in memory", f"{ratios['bounded_memory']:.2f}", ""),
    ]
    if args.jobs:
        rows += [
            (
                "round of a job whose pushes ask for rows, Redis 1 ms away",
                "a lookup in each",
                f"{ratios['asked']:.2f}",
                "at least 1.15",
            ),
            ("bytes of pulled rows with a cache of bound 4", "without", f"{ratios['cache_bytes']:.2f}", "at most 0.5"),
            ("AUC with that cache", "without", f"{ratios['cache_auc']:+.4f}", "within 0.001"),
        ]
    print("\n".join(table(("work", "against", "ratio", "aim"), rows)))


if __name__ == "__main__":
    main()
