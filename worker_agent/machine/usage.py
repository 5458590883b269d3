"""The usage of this node by each of its processes: processor time and memory from the system, a GPU's from its driver."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import psutil
import structlog

from gradstream.group.private_memory import PrivateMemory
from worker_agent.machine import gpus
from worker_agent.processes import AgentProcess

log = structlog.get_logger(__name__)

EVERY = 2.0
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Usage:
    at: float
    """Seconds since the epoch."""
    cpu: float | None
    """Cores, the mean since the look before; None at the first look."""
    memory: int
    """Bytes resident."""
    gpu: float | None = None
    """Share of the time that it worked on its GPUs, lately."""
    gpu_memory: int | None = None
    """Bytes that it has on its GPUs."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Measuring(threading.Thread):
    """Looks now and then, in a thread of its own: a driver that does not answer holds up neither heartbeats nor an end."""

    def __init__(self) -> None:
        super().__init__(name="measuring", daemon=True)
        self._meter = UsageMeter()
        self._guard, self._closed = threading.Lock(), threading.Event()
        self._processes: list[AgentProcess] = []
        self._found: dict[UUID, Usage] = {}

    def run(self) -> None:
        while not self._closed.wait(EVERY):
            try:
                found = self._meter.read(self._processes)
            except Exception:
                log.exception("what the processes take could not be measured; trying again")
                continue
            with self._guard:
                self._found = found

    def take(self, processes: Iterable[AgentProcess]) -> dict[UUID, Usage]:
        """Return the usage found since the last call. From now on, look at these processes."""
        with self._guard:
            self._processes = list(processes)
            found, self._found = self._found, {}
        return found

    def close(self) -> None:
        self._closed.set()


class UsageMeter:
    """Looks at processes together with their children: a data set may have started some."""

    def __init__(self) -> None:
        self._spent: dict[UUID, tuple[float, float]] = {}
        """Time of each process's last measurement, and its seconds of processor time then."""
        self._private: dict[int, PrivateMemory] = {}
        """By pid: of processes that have children, and of these."""

    def read(self, processes: Iterable[AgentProcess]) -> dict[UUID, Usage]:
        """Measure the processes that run."""
        moment = time.monotonic()
        found: dict[UUID, Usage] = {}
        spent: dict[UUID, tuple[float, float]] = {}
        running = {process.pid: process.order for process in processes if process.state == "running" and process.pid is not None}
        families = _families(list(running))
        sharing = [one.pid for family in families.values() if len(family) > 1 for one in family]
        self._private = {pid: self._private.get(pid) or PrivateMemory(pid) for pid in sharing}
        for pid, family in families.items():
            order = running[pid]
            seconds, memory = self._taken(family)
            if memory == 0:
                continue  # it has ended; its exit is about to be seen
            spent[order.id] = moment, seconds
            used = gpus.usage(order.visible_gpus, {one.pid for one in family}, alone=order.gpu_share == 1)
            found[order.id] = Usage(time.time(), self._cores(order.id, moment, seconds), memory, *used)
        self._spent = spent
        return found

    def _cores(self, id: UUID, moment: float, seconds: float) -> float | None:
        if id not in self._spent:
            return None
        before, spent = self._spent[id]
        return max(0.0, seconds - spent) / (moment - before)  # a child that ended takes its seconds along

    def _taken(self, family: Iterable[psutil.Process]) -> tuple[float, int]:
        """Return seconds of processor time so far and bytes of memory, of all together. A process that has just ended counts no
        more. Memory that they share counts once, as much as the one holds that has most of it: libraries, the parameters of a
        group, and all that a process had before it was forked."""
        seconds, private, shared = 0.0, 0, 0
        for one in family:
            with suppress(psutil.Error), one.oneshot():
                times, resident = one.cpu_times(), one.memory_info().rss
                own = min(resident, self._private[one.pid].read()) if one.pid in self._private else resident
                private, shared = private + own, max(shared, resident - own)
                seconds += times.user + times.system
        return seconds, private + shared


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
