"""What a system costs while it trains: a window of time, its whole tree of processes, and whoever else uses the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.peers.counter import Count, joined

QUIET = 0.15
"""Cores that others may use while a system is measured."""
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BUSY = slice(0, 3), slice(5, 8)  # of the numbers behind `cpu` in /proc/stat: not idle, not waiting for disks, with stolen time


class Tree:
    """A process and all that it has started, directly or not."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._known: dict[int, psutil.Process] = {}
        self._cpu: dict[int, float] = {}
        self.peak_rss = self.peak_pss = 0
        """Bytes, as far as `look` has seen. RSS counts a page that is shared once for each process, PSS once."""

    def look(self, pss: bool = False) -> None:
        """Note the processes and their memory. `pss` costs milliseconds for each gigabyte: not inside of a window."""
        try:
            found = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        self._known.update({process.pid: process for process in found})
        self.peak_rss = max(self.peak_rss, sum(_rss(process.pid) for process in found))
        if pss:
            self.peak_pss = max(self.peak_pss, sum(pss_of(process.pid) for process in found))

    def cpu(self) -> float:
        """Seconds that all of them have used so far. Of one that has ended, what it had used when it was asked last."""
        self.look()
        for pid in self._known:
            if (used := _cpu(pid)) is not None:
                self._cpu[pid] = used
        return sum(self._cpu.values())

    def kill(self, within: float = 10.0) -> list[int]:
        """What was ever seen of it and still runs; returns what could not be ended."""
        self.look()
        left = [process for process in self._known.values() if process.is_running()]  # the same one, not another of its number
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
        _, alive = psutil.wait_procs(left, within)
        return [process.pid for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


class Reading(NamedTuple):
    """At one moment. Only differences mean something."""

    time: float
    workers: tuple[Count, ...]
    cpu: float
    """Seconds of the system's processes."""
    machine: float
    """Seconds of all processors in use, by whomever."""
    own: float
    """Seconds of this process, which measures."""
    loopback: int
    """Bytes received by the interface `lo`."""


@dataclass
class Measured:
    """One launch of a system."""

    samples_per_second: float
    cpu_seconds_per_1000_samples: float
    cores_busy: float
    others_cores: float
    """Used by whatever is neither the system nor the meter, the kernel's own work for the system included."""
    loopback_bytes_per_step: float
    seconds: float
    steps: int
    peak_rss_mb: float = 0.0
    peak_pss_mb: float = 0.0
    first_loss: float = 0.0
    loss: float = 0.0
    """At the end of the window; the samples behind it differ from system to system."""
    start_seconds: float = 0.0
    """Until the last worker's first step."""
    more: dict[str, object] = field(default_factory=dict)
    """What the system says of itself."""

    @property
    def quiet(self) -> bool:
        return self.others_cores <= QUIET


def between(a: Reading, b: Reading) -> Measured:
    """What happened from `a` to `b`."""
    seconds, cpu = b.time - a.time, b.cpu - a.cpu
    steps = sum(after.steps - before.steps for before, after in zip(a.workers, b.workers, strict=True))
    samples = sum(_samples(before, after, a.time, b.time) for before, after in zip(a.workers, b.workers, strict=True))
    return Measured(
        samples_per_second=samples / seconds,
        cpu_seconds_per_1000_samples=1000 * cpu / max(1, samples),
        cores_busy=cpu / seconds,
        others_cores=max(0.0, (b.machine - a.machine - cpu - (b.own - a.own)) / seconds),
        loopback_bytes_per_step=(b.loopback - a.loopback) / max(1, steps),
        seconds=seconds,
        steps=steps,
    )


def _samples(before: Count, after: Count, began: float, ended: float) -> float:
    """Of one worker, with the share of the steps that it was in at both ends: in seconds of which a slow model makes ten steps,
    whole ones would be too coarse."""
    steps, samples = after.steps - before.steps, after.samples - before.samples
    if not steps or after.last <= before.last:
        return float(samples)
    pace = (after.last - before.last) / steps
    part = min(1.0, max(0.0, (ended - after.last) / pace)) - min(1.0, max(0.0, (began - before.last) / pace))
    return samples + part * samples / steps


def window(
    tree: Tree, counts: Callable[[], tuple[Count, ...]], settle: float, seconds: float, wait: Callable[[float], None]
) -> Measured:
    """Measure from `settle` seconds after the last worker's first step, for `seconds`. `wait(s)` waits, and raises if the
    system has ended."""
    began = joined(counts()).began
    while (left := began + settle - time.monotonic()) > 0:
        tree.look(pss=left > 0.5)
        wait(min(left, 0.5))
    before = read(tree, counts())
    end = before.time + seconds
    while (left := end - time.monotonic()) > 0.01:
        wait(min(left, 0.5))
        if left > 0.5:
            tree.look()
    after = read(tree, counts())
    tree.look(pss=True)
    measured = between(before, after)
    total = joined(after.workers)
    measured.first_loss, measured.loss = total.first_loss, total.loss
    measured.peak_rss_mb, measured.peak_pss_mb = tree.peak_rss / 1e6, tree.peak_pss / 1e6
    return measured


def read(tree: Tree, workers: tuple[Count, ...]) -> Reading:
    own = sum(os.times()[:2])
    return Reading(time.monotonic(), workers, tree.cpu(), _machine(), own, _loopback())


def _machine() -> float:
    numbers = [int(n) for n in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]]
    return sum(sum(numbers[part]) for part in _BUSY) / _TICK


def _loopback() -> int:
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0


def _cpu(pid: int) -> float | None:
    text = _of(pid, "stat")
    return sum(map(int, text.rpartition(")")[2].split()[11:13])) / _TICK if text else None


def _rss(pid: int) -> int:
    text = _of(pid, "statm")
    return int(text.split()[1]) * _PAGE if text else 0


def pss_of(pid: int, kind: str = "Pss") -> int:
    """Bytes that a process holds, a share only of what is shared; `Pss_Shmem`: of shared memory alone, `Pss_Anon`: of what is no
    file. 0 if it has ended."""
    return sum(int(line.split()[1]) * 1024 for line in _of(pid, "smaps_rollup").splitlines() if line.startswith(f"{kind}:"))


def _of(pid: int, name: str) -> str:
    """Empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def median_of(launches: Iterable[Measured], what: str) -> tuple[float, float, float]:
    """Median, least and most of a field."""
    values = sorted(float(getattr(launch, what)) for launch in launches)
    middle = len(values) // 2
    return (values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2, values[0], values[-1])


def machine() -> Mapping[str, object]:
    """What this machine is."""
    about = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    names = {key.strip(): value.strip() for key, value in about.items()}
    return {
        "cpu": names.get("model name", names.get("CPU part", "unknown")),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{os.uname().sysname} {os.uname().release}",
    }
