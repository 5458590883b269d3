"""Costs of a slow worker with fixed shares and with mini-batches dealt on demand: `python -m benchmarks.stragglers`.

Whole jobs as `gradstream train` runs them. Workers sleep instead of computing, so that their rates are true on any number of cores.
One of them may sleep seven times as long. The ideal is the sum of the rates: mini-batches / (rate + rate + ...), from when each
worker begins. The simulator says the same without processes."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from benchmarks import common
from benchmarks.common import table
from benchmarks.peers import ours
from gradstream import Workload, metrics, sim
from gradstream.metrics import Point
from gradstream.sim.times.costs import Costs
from gradstream.sim.toys import Toy, job
from gradstream.spec import JobSpec
from gradstream.workload import Split

SLOWER = 7.0
WORKERS = 8
STRATEGIES: dict[str, dict[str, Any]] = {"async": {"name": "async"}, "adag": {"name": "adag", "window": 10}}
AIMS = {"straggler": 1.06, "equal": 1.01}
"""With mini-batches on demand: time over the ideal with a slow worker, and over the time of shares with equal workers."""
_NEVER = 10**9


class Failed(Exception):
    """A job did not train all of its mini-batches."""


class Sleeping(Workload):
    classifies = False
    pause: float = 0.1
    examples: int = 1000
    slow: str = ""
    """A folder that is not there: the first worker to make it is the slow one."""

    def model(self) -> nn.Module:
        return nn.Linear(1, 1)

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.zeros(self.examples if split == "train" else 1, 1))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training:
            time.sleep(self.pause * (SLOWER if self._is_slow() else 1))
        return model(batch[0]).square().mean()

    def _is_slow(self) -> bool:
        if not hasattr(self, "_slow"):
            try:
                Path(self.slow).mkdir()
                self._slow = True
            except OSError:
                self._slow = False
        return self._slow


@dataclass(frozen=True)
class Cell:
    strategy: str
    straggler: bool
    deal: str
    mini_batches: int
    pause: float
    shared: bool

    def spec(self, folder: Path) -> JobSpec:
        args = {"pause": self.pause, "examples": self.mini_batches, "slow": str(folder / "slow") if self.straggler else "/"}
        return JobSpec.model_validate(
            {
                "name": "stragglers",
                "batch_size": 1,
                "workload": {"entrypoint": "benchmarks.stragglers:Sleeping", "args": args},
                "strategy": {**STRATEGIES[self.strategy], "lr": 1e-6},
                "roles": {"worker": {"count": WORKERS, "device": "cpu"}, "server": {"count": 1}},
                "stop": {"epochs": 1},
                "data": {"deal": self.deal},
                "evaluate": {"every": _NEVER},
                "checkpoint": {"every": _NEVER},
            }
        )


class Clock:
    """When each worker trained what, by its losses and its compute times."""

    def __init__(self) -> None:
        self._ends: dict[int, list[float]] = defaultdict(list)
        self._compute: dict[int, float] = defaultdict(float)

    def take(self, points: list[Point]) -> None:
        for point in points:
            if point.name == metrics.LOSS.name:
                self._ends[point.rank].append(point.time)
            elif point.name == metrics.COMPUTE.name:
                self._compute[point.rank] += point.value

    def row(self, cell: Cell) -> dict[str, Any]:
        """Raises: Failed."""
        trained = {rank: len(ends) for rank, ends in self._ends.items()}
        if sum(trained.values()) != cell.mini_batches:
            raise Failed(f"{sum(trained.values())} of {cell.mini_batches} mini-batches were trained")
        seconds = {rank: self._compute[rank] / count for rank, count in trained.items()}
        began = {rank: min(ends) - seconds[rank] for rank, ends in self._ends.items()}
        first, rate = min(began.values()), sum(1 / each for each in seconds.values())
        late = sum((began[rank] - first) / seconds[rank] for rank in seconds)
        ideal = (cell.mini_batches + late) / rate
        took = max(map(max, self._ends.values())) - first
        return {
            "strategy": cell.strategy,
            "workers": "one slow" if cell.straggler else "equal",
            "transport": "shared memory" if cell.shared else "Redis",
            "deal": cell.deal,
            "seconds": took,
            "ideal": ideal,
            "ratio": took / ideal,
            "trained": [trained[rank] for rank in sorted(trained)],
        }


def measured(cell: Cell, folder: Path) -> dict[str, Any]:
    """Raises: Failed."""
    clock = Clock()
    folder.mkdir()
    failed, _ = ours.run(cell.spec(folder), folder / "job", cell.shared, lambda: False, clock.take)
    if failed:
        raise Failed(failed)
    return clock.row(cell)


def simulated(strategy: str, straggler: bool, deal: str, mini_batches: int) -> dict[str, Any]:
    """The same in virtual time, with messages that take none."""
    more = {"workers": WORKERS, "steps": mini_batches // WORKERS, "gate": "asp", "data": {"deal": deal}}
    speeds = f"straggler:{SLOWER:g}" if straggler else "constant"
    took = sim.run(job({**STRATEGIES[strategy], "lr": 1e-6}, **more), Toy, costs=Costs(speeds=speeds)).time
    rate = WORKERS - 1 + 1 / SLOWER if straggler else WORKERS
    ideal = mini_batches / rate
    row = {"strategy": strategy, "workers": "one slow" if straggler else "equal", "transport": "simulator", "deal": deal}
    return {**row, "seconds": took, "ideal": ideal, "ratio": took / ideal, "trained": []}


def claims(rows: list[dict[str, Any]]) -> list[str]:
    """Say which aims are met."""
    said = []
    for row in (row for row in rows if row["deal"] == "demand"):
        if row["workers"] == "one slow":
            against, aim, ratio = "the sum of the rates", AIMS["straggler"], row["ratio"]
        else:
            shares = [
                other["ratio"]
                for other in rows
                if other["deal"] == "shares" and all(other[key] == row[key] for key in ("strategy", "workers", "transport"))
            ]
            against, aim, ratio = "shares", AIMS["equal"], row["ratio"] / statistics.mean(shares)
        what = f"{row['strategy']}, {row['transport']}, {row['workers']}"
        said.append(f"- {what}: {ratio:.3f} of {against}; aim {aim:.2f}: {'met' if ratio <= aim else 'MISSED'}")
    return said


def markdown(result: dict[str, Any]) -> str:
    names = ("strategy", "workers", "transport", "deal")
    rows = [
        [*(row[name] for name in names), f"{row['seconds']:.1f}", f"{row['ideal']:.1f}", f"{row['ratio']:.3f}"]
        for row in result["rows"]
    ]
    lines = ["# Stragglers", "", *common.head(result), *table((*names, "s", "ideal", "ratio"), rows), "", *claims(result["rows"])]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    parser.add_argument("--mini-batches", type=int, default=1000, metavar="N", help="a multiple of 8")
    parser.add_argument("--pause", type=float, default=0.1, metavar="SECONDS", help="of a mini-batch")
    parser.add_argument("--redis", action="store_true", help="workers and servers as if on several hosts")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for strategy in given.strategies:
            for straggler in (True, False):
                for deal in ("shares", "demand"):
                    rows.append(simulated(strategy, straggler, deal, given.mini_batches))
                    cell = Cell(strategy, straggler, deal, given.mini_batches, given.pause, not given.redis)
                    print(f"{strategy}, {'one slow' if straggler else 'equal'}, {deal}", file=sys.stderr)
                    rows.append(measured(cell, Path(folder) / str(len(rows))))
    result = {**common.about(mini_batches=given.mini_batches, pause=given.pause, slower=SLOWER, workers=WORKERS), "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(result, indent=1))
    print(markdown(result))


if __name__ == "__main__":
    main()
