"""What each process of this node takes of it: processor time and memory from the system, a GPU's from its driver."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import psutil

from worker_agent import gpus
from worker_agent.processes import Process

EVERY = 2.0
"""Seconds between two looks, however often the agent reports."""


@dataclass(frozen=True, slots=True)
class Usage:
    at: float
    """Seconds since the epoch."""
    cpu: float | None
    """Cores, the mean since the look before; None at the first look."""
    memory: int
    """Bytes resident."""
    gpu: float | None = None
    """Share of the time that its GPU worked, lately."""
    gpu_memory: int | None = None
    """Bytes taken on its GPU."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Meter:
    """Looks at processes together with their children: a data set may have started some."""

    def __init__(self) -> None:
        self._due = 0.0
        self._spent: dict[UUID, tuple[float, float]] = {}
        """Of each process at the look before: when, and its seconds of processor time."""

    def read(self, processes: Iterable[Process]) -> dict[UUID, Usage]:
        """Of those that run; empty when it is too early for another look."""
        moment = time.monotonic()
        if moment < self._due:
            return {}
        self._due = moment + EVERY
        found: dict[UUID, Usage] = {}
        spent: dict[UUID, tuple[float, float]] = {}
        running = {process.pid: process.order for process in processes if process.state == "running" and process.pid is not None}
        for pid, family in _families(list(running)).items():
            order = running[pid]
            seconds, memory = _taken(family)
            spent[order.id] = moment, seconds
            found[order.id] = Usage(time.time(), self._cores(order.id, moment, seconds), memory, *gpus.usage(order.gpu))
        self._spent = spent
        return found

    def _cores(self, id: UUID, moment: float, seconds: float) -> float | None:
        if id not in self._spent:
            return None
        before, spent = self._spent[id]
        return max(0.0, seconds - spent) / (moment - before)  # a child that ended takes its seconds along


def _families(pids: Sequence[int]) -> dict[int, list[psutil.Process]]:
    """Each of these with its children and theirs, found in one walk over all processes of the machine."""
    children: dict[int, list[psutil.Process]] = defaultdict(list)
    known: dict[int, psutil.Process] = {}
    for one in psutil.process_iter(["ppid"]) if pids else ():
        known[one.pid] = one
        children[one.info["ppid"]].append(one)
    families = {pid: [known[pid]] for pid in pids if pid in known}
    for family in families.values():
        for one in family:  # grows meanwhile
            family += children[one.pid]
    return families


def _taken(family: Iterable[psutil.Process]) -> tuple[float, int]:
    """Seconds of processor time so far and bytes of memory, of all together; who has just ended counts no more."""
    seconds, memory = 0.0, 0
    for one in family:
        with suppress(psutil.Error), one.oneshot():
            times = one.cpu_times()
            memory += one.memory_info().rss
            seconds += times.user + times.system
    return seconds, memory
