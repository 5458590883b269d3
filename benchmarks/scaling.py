"""What an update costs as workers, shards and parameters grow, where that bends, and why: `python -m benchmarks.scaling`.

Whole jobs as `gradstream train` runs them, metrics, evaluator and supervisor included, with workers that have next to nothing to
compute: one parameter vector with a slope. CPU seconds of workers, servers, Redis and the rest are counted apart over a window in
which all workers train. The ledger must close in each job."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import nn
from torch.utils.data import TensorDataset

from benchmarks import common
from benchmarks.common import cpu, table
from benchmarks.peers import ours
from gradstream import Workload, metrics
from gradstream.metrics import Point
from gradstream.spec import JobSpec
from gradstream.workload import Split

PARTS = ("workers", "servers", "redis", "evaluator", "supervisor")
_FOREVER = 10**9
_STARTS_WITHIN = 90.0
_BEND, _FULL = 1.25, 0.85
"""A doubling that gains less bends the curve; a core, or all cores, used to this share are full."""


class Light(Workload):
    classifies = False
    parameters: int = 1000

    def model(self) -> nn.Module:
        self._slope = torch.full((self.parameters,), 1e-6)
        return nn.ParameterDict({"x": nn.Parameter(torch.ones(self.parameters))})

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.zeros(8192 if split == "train" else 1, 1))

    def loss(self, model: nn.ParameterDict, batch: list[torch.Tensor]) -> torch.Tensor:  # type: ignore[override]
        return torch.dot(model["x"], self._slope)


@dataclass(frozen=True)
class Cell:
    workers: int = 2
    shards: int = 1
    parameters: int = 1000
    shared: bool = True

    def spec(self) -> JobSpec:
        return JobSpec.model_validate(
            {
                "name": "scaling",
                "batch_size": 8,
                "workload": {"entrypoint": "benchmarks.scaling:Light", "args": {"parameters": self.parameters}},
                "strategy": {"name": "async", "lr": 0.01},
                "roles": {"worker": {"count": self.workers, "device": "cpu"}, "server": {"count": self.shards}},
                "stop": {"steps": _FOREVER},
                "evaluate": {"every": _FOREVER},
                "checkpoint": {"every": _FOREVER},
            }
        )


SWEEPS: dict[str, list[Cell]] = {
    "workers, shared memory": [Cell(workers=n) for n in (1, 2, 4, 8, 16, 32, 64)],
    "workers, through Redis": [Cell(workers=n, shared=False) for n in (1, 2, 4, 8, 16, 32, 64)],
    "shards, shared memory": [Cell(shards=n, parameters=1_000_000) for n in (1, 2, 4, 8)],
    "shards, through Redis": [Cell(shards=n, parameters=1_000_000, shared=False) for n in (1, 2, 4, 8)],
    "parameters, shared memory": [Cell(parameters=10**n) for n in (3, 4, 5, 6, 7)],
    "parameters, through Redis": [Cell(parameters=10**n, shared=False) for n in (3, 4, 5, 6)],
}


class Failed(Exception):
    """A job did not train."""


class Window:
    """What happens from when all workers train, until `seconds` later."""

    def __init__(self, cell: Cell, seconds: float) -> None:
        self._cell, self._seconds = cell, seconds
        self._began = time.monotonic()
        self._training: set[int] = set()
        self._points: list[Point] = []
        self.books = ours.Books()
        self.ends: list[tuple[float, dict[str, float]]] = []
        """Time of the clock and CPU seconds of each part, when it opened and when it closed."""

    def take(self, points: list[Point]) -> None:
        self.books.take(points)
        self._training |= {point.rank for point in points if point.name == metrics.LOSS.name}
        if self.ends:
            self._points += points

    def ended(self) -> bool:
        """Asked a few times a second."""
        if not self.ends:
            if len(self._training) == self._cell.workers:
                self.ends.append((time.time(), _used()))
            return time.monotonic() - self._began > _STARTS_WITHIN
        if len(self.ends) == 1 and time.time() - self.ends[0][0] >= self._seconds:
            self.ends.append((time.time(), _used()))
        return len(self.ends) == 2

    def row(self) -> dict[str, Any]:
        """Raises: Failed."""
        if len(self.ends) < 2:
            raise Failed(f"{len(self._training)} of {self._cell.workers} workers trained within {_STARTS_WITHIN:g} s")
        (began, before), (ended, after) = self.ends
        inside: dict[str, list[float]] = defaultdict(list)
        for point in self._points:
            if began <= point.time < ended:
                inside[point.name].append(point.value)
        updates, seconds = max(1, len(inside[metrics.STALENESS.name])), ended - began
        used = {part: after[part] - before[part] for part in PARTS}
        books = self.books.closed()
        return {
            "workers": self._cell.workers,
            "shards": self._cell.shards,
            "parameters": self._cell.parameters,
            "shared_memory": self._cell.shared,
            "updates": updates,
            "updates_per_second": updates / seconds,
            "cpu_ms_per_update": {part: 1e3 * value / updates for part, value in used.items()},
            "cores": {part: value / seconds for part, value in used.items()},
            "compute_ms": _mean(inside, metrics.COMPUTE.name, 1e3),
            "wait_ms": _mean(inside, metrics.WAIT.name, 1e3),
            "shard_busy": _mean(inside, metrics.BUSY.name),
            "staleness": _mean(inside, metrics.STALENESS.name),
            "ledger_closes": books["ledger_closes"],
            "ledger": books["ledger"],
        }


def _mean(inside: dict[str, list[float]], name: str, factor: float = 1.0) -> float:
    return factor * statistics.mean(inside[name]) if inside[name] else 0.0


def _used() -> dict[str, float]:
    """CPU seconds so far of this process, which supervises, and of those below it."""
    pids: dict[str, list[int]] = {part: [] for part in PARTS}
    pids["supervisor"].append(os.getpid())
    for process in psutil.Process().children(recursive=True):
        try:
            pids[_part(process.name())].append(process.pid)
        except psutil.NoSuchProcess:
            continue
    return {part: cpu(found) for part, found in pids.items()}


def _part(name: str) -> str:
    beginnings = {"gs worker": "workers", "gs server": "servers", "gs evaluator": "evaluator", "valkey": "redis"}
    return next((part for beginning, part in beginnings.items() if name.startswith(beginning)), "supervisor")


def measured(cell: Cell, seconds: float, folder: Path) -> dict[str, Any]:
    """Raises: Failed."""
    window = Window(cell, seconds)
    failed, _ = ours.run(cell.spec(), folder, cell.shared, window.ended, window.take)
    if failed:
        raise Failed(failed)
    return window.row()


# ---- where it bends -----------------------------------------------------------------------------------------------------------


def bend(name: str, rows: list[dict[str, Any]]) -> str:
    """In words. Of workers and shards, where doubling them gains little; of parameters, where an update costs twice."""
    if len(rows) < 2:
        return "one cell bends nowhere"
    if name.startswith("parameters"):
        return _bend_of_cost(rows)
    key = name.partition(",")[0]
    for row, before in zip(rows[1:], rows, strict=False):
        gain = row["updates_per_second"] / before["updates_per_second"]
        if gain < _BEND:
            return f"from {before[key]} to {row[key]} {key}: {gain:.2f} times the updates; {why(row)}"
    return f"not up to {rows[-1][key]} {key}"


def _bend_of_cost(rows: list[dict[str, Any]]) -> str:
    least = _total(rows[0])
    for row in rows[1:]:
        if _total(row) > 2 * least:
            grown = {part: row["cpu_ms_per_update"][part] - rows[0]["cpu_ms_per_update"][part] for part in PARTS}
            most = max(grown, key=lambda part: grown[part])
            return (
                f"at {row['parameters']:,} parameters an update costs {_total(row) / least:.1f} times the CPU; most of what was "
                f"added is in {most} ({grown[most]:.2f} of {_total(row) - least:.2f} ms)"
            )
    return f"not up to {rows[-1]['parameters']:,} parameters"


def _total(row: dict[str, Any]) -> float:
    return float(sum(row["cpu_ms_per_update"].values()))


def why(row: dict[str, Any]) -> str:
    """What is full where it bends."""
    cores, count = row["cores"], os.cpu_count() or 1
    most = max(cores, key=lambda part: cores[part])
    if sum(cores.values()) > _FULL * count:
        share = cores[most] / sum(cores.values())
        return f"all {count} cores are busy, {share:.0%} of it in {most}"
    if row["shard_busy"] > _FULL:
        return f"shards are busy {row['shard_busy']:.0%} of the time"
    if cores["redis"] > _FULL:
        return f"Redis, which has one thread, uses {cores['redis']:.2f} cores"
    waits = row["wait_ms"] / max(1e-9, row["wait_ms"] + row["compute_ms"])
    return f"{sum(cores.values()):.2f} of {count} cores are used, and workers wait {waits:.0%} of the time"


def markdown(result: dict[str, Any]) -> str:
    header = [
        "workers",
        "shards",
        "parameters",
        "updates/s",
        "CPU ms / update",
        *PARTS,
        "cores",
        "shards busy",
        "compute ms",
        "wait ms",
        "staleness",
        "ledger",
    ]
    lines = common.head(result)
    for name, sweep in result["sweeps"].items():
        rows = [
            [
                str(row["workers"]),
                str(row["shards"]),
                f"{row['parameters']:,}",
                f"{row['updates_per_second']:,.0f}",
                f"{_total(row):.2f}",
                *(f"{row['cpu_ms_per_update'][part]:.2f}" for part in PARTS),
                f"{sum(row['cores'].values()):.2f}",
                f"{row['shard_busy']:.0%}",
                f"{row['compute_ms']:.2f}",
                f"{row['wait_ms']:.2f}",
                f"{row['staleness']:.1f}",
                "closes" if row["ledger_closes"] else "OPEN",
            ]
            for row in sweep["rows"]
        ]
        lines += [f"### {name}", "", *table(header, rows), "", f"Bends: {sweep['bends']}.", ""]
        lines += [f"Not measured: {what}" for what in sweep["failed"]]
    return "\n".join(lines)


def measure(args: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    sweeps = {}
    for name in args.sweeps:
        rows, failed = [], []
        for cell in SWEEPS[name]:
            if cell.workers > args.most_workers:
                continue
            with tempfile.TemporaryDirectory(prefix="gs-scaling-") as folder:
                try:
                    rows.append(measured(cell, args.seconds, Path(folder) / "job"))
                    say(f"{name}: {cell}: {rows[-1]['updates_per_second']:,.0f} updates/s, {_total(rows[-1]):.2f} CPU ms each")
                except Failed as error:
                    failed.append(f"{cell}: {error}")
                    say(failed[-1])
        sweeps[name] = {"rows": rows, "failed": failed, "bends": bend(name, rows)}
    return common.about(seconds=args.seconds) | {"sweeps": sweeps}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--sweeps", nargs="+", choices=list(SWEEPS), default=list(SWEEPS))
    parser.add_argument("--most-workers", type=int, default=64, help="leave out jobs with more")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each window")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    result = measure(args, lambda what: print(what, file=sys.stderr))
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    every = [row for sweep in result["sweeps"].values() for row in sweep["rows"]]
    failed = any(sweep["failed"] for sweep in result["sweeps"].values())
    return 0 if not failed and all(row["ledger_closes"] for row in every) else 1


if __name__ == "__main__":
    sys.exit(common.interruptible(main))
