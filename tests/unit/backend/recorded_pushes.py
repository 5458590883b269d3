"""Pushes of workers made by hand, as the platform stores them in cells of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend.metrics.charts.timings import CellSums
from backend.stragglers.causes import WorkerMachine
from backend.stragglers.cells import WorkerCells, worker_cells
from backend.stragglers.diagnosis import Measured
from gradstream.spec import JobSpec

BEGAN = 1000.3
"""Start of training, in seconds since the epoch."""
Parts = Mapping[str, float]
Push = tuple[float, Parts]
"""Its time, and the seconds of its parts."""


def job(workers: int, **fields: Any) -> JobSpec:
    roles = {"worker": {"count": workers}}
    given = {
        "name": "small",
        "workload": {"entrypoint": "work:Work"},
        "strategy": {"name": "async", "lr": 0.1},
        "stop": {"steps": 9},
    }
    return JobSpec.model_validate({**given, "roles": roles, **fields})


def steady(parts: Callable[[float], Parts], count: int, *, begin: float = 0.0, until: float = np.inf) -> list[Push]:
    """So many pushes, one after another; `parts` of the seconds since the start of training."""
    now, found = BEGAN + 0.45 + begin, list[Push]()
    for _ in range(count):
        spent = parts(now - BEGAN)
        now += sum(spent.values())
        if now - BEGAN > until:
            break
        found.append((now, spent))
    return found


@dataclass
class Recording:
    """The pushes of all workers, by rank."""

    pushes: dict[int, list[Push]]
    elapsed: float
    ended: dict[int, float]
    """Seconds after the start of training at which workers left."""

    def measured(self, spec: JobSpec, **more: Any) -> Measured:
        count = max(1, min(120, int(self.elapsed)))
        width = self.elapsed / count
        away = more.pop("away", {})
        ended = {rank: BEGAN + at for rank, at in self.ended.items()}
        cells = {rank: self._cells(rank, count, width, ended.get(rank), away.get(rank, ())) for rank in self.pushes}
        fields: dict[str, Any] = {
            "attempt": 1,
            "on_core": {},
            "shares": {},
            "left": 0.0,
            "running": bool(self.pushes.keys() - ended.keys()),
            "machines": {rank: WorkerMachine("here", False, 1, 1, 4.0, None, 4) for rank in self.pushes},
            "silent": {},
            "examples": None,
            "follows": False,
        }
        known = {"spec": spec, "began": BEGAN, "width": width, "elapsed": self.elapsed, "ended": ended}
        return Measured(workers={rank: one for rank, one in cells.items() if one}, **known, **fields | more)

    def _cells(self, rank: int, count: int, width: float, ended: float | None, away: Any) -> WorkerCells | None:
        names = {name for _, parts in self.pushes[rank] for name in parts} | {"compute"}
        sums = {name: self.sums(rank, name, count, width) for name in names}
        return worker_cells(sums, BEGAN + width * np.arange(count + 1), 1.0, ended, away) if self.pushes[rank] else None

    def sums(self, rank: int, name: str, count: int, width: float) -> CellSums:
        made, total = np.zeros(count), np.zeros(count)
        for time, parts in self.pushes[rank]:
            cell = min(count - 1, int((time - BEGAN) / width))
            made[cell] += 1
            total[cell] += parts.get(name, 0.0)
        times = np.array([time for time, _ in self.pushes[rank]])
        values = np.array([parts.get(name, 0.0) for _, parts in self.pushes[rank]])
        return CellSums(made, total, times, np.arange(1, len(times) + 1), values.cumsum())
