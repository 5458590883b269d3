"""How much of its computing time a worker runs on a processor core. Below 1 it shares cores: alone, it would compute faster."""

from __future__ import annotations

import os
import time

import psutil

_SHORT = 1e-3
"""Seconds. Only some of the shorter mini-batches are measured: the clock itself takes about a microsecond."""
_SKIPPED = 16


class OnCore:
    """The share over all mini-batches measured so far. The first mini-batch of the process is left out: it warms up."""

    def __init__(self) -> None:
        self._next = -1
        self._began: tuple[float, float] | None = None
        self._wall = self._on_core = 0.0

    def begin(self, position: int) -> None:
        """Before mini-batch number `position` is computed, in the thread that computes it."""
        if self._next < 0:
            self._next = position + 1
        self._began = (time.perf_counter(), time.thread_time()) if position >= self._next else None

    def end(self, position: int) -> None:
        if self._began is None:
            return
        wall = time.perf_counter() - self._began[0]
        self._on_core += time.thread_time() - self._began[1]
        self._wall += wall
        self._next = position + (1 if wall > _SHORT else _SKIPPED)

    @property
    def share(self) -> float | None:
        return min(1.0, self._on_core / self._wall) if self._wall else None


def physical_cores() -> int:
    """Physical cores that this process may use, as far as the machine tells; two hardware threads of one core count once."""
    allowed = len(os.sched_getaffinity(0))
    return min(allowed, psutil.cpu_count(logical=False) or allowed)
