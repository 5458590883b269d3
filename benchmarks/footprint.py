"""What a platform's programs hold in memory: which process is which, and whether it grows."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import psutil

from benchmarks.peers.meter import pss_of

MB = 1e6
SPANS = 12
"""A slope is fitted to the means of so many equal spans of time: readings that follow each other closely say the same again."""
POSTGRES, BUFFERS = "Postgres", "Postgres: shared buffers"
"""Its buffers have a size of their own (`shared_buffers`), which they fill and keep."""
_PROGRAMS = {
    "gradstream zygote": "zygote",
    "worker_agent": "agent",
    "backend\0api": "API",
    "backend\0controller": "controller",
    "redis-live": "Redis, live",
    "redis-plane": "Redis, plane",
    "gradstream.cli.main\0up": "gradstream up",
}


def held(roots: Mapping[int, str]) -> dict[str, float]:
    """Memory of their own that all programs have which these processes have started, in MB, by name; programs of one name are added
    up. A root's own name stands behind those of its job processes, as several jobs have a worker 0.

    It is the share of anonymous memory (`Pss_Anon`): a program's share of libraries' pages rises when others on the machine end."""
    found: dict[str, float] = defaultdict(float)
    for pid, name in roots.items():
        for process in _tree(pid):
            called = _called(process, name)
            if called == POSTGRES:
                found[BUFFERS] += pss_of(process.pid, "Pss_Shmem") / MB
            if called:
                found[called] += pss_of(process.pid, "Pss_Anon") / MB
    return dict(found)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _called(process: psutil.Process, root: str) -> str | None:
    """None: it has ended, or has not become what it was started for yet."""
    try:
        short, command = process.name(), "\0".join(process.cmdline())
    except psutil.Error:
        return None
    if short.startswith("gs "):
        return f"{short[3:]}, {root}"
    if short.startswith("postgres"):
        return POSTGRES
    known = next((name for words, name in _PROGRAMS.items() if words in command), None)
    return f"{known}, {root}" if known in ("agent", "zygote") else known


@dataclass(frozen=True)
class Trend:
    """Of one program, in MB."""

    first: float
    """The mean of the first of SPANS spans of time."""
    last: float
    most: float
    """Of all readings."""
    slope: float
    """MB in an hour."""
    error: float
    """Twice the standard error of the slope: it lies within that far nineteen times of twenty."""

    def grows(self, above: float) -> bool:
        """By more than `above` MB in an hour, beyond doubt."""
        return self.slope - self.error > above


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """`times` in seconds, rising; at least SPANS of them."""
    hours, means = zip(*_spans(times, values), strict=True)
    fit = statistics.linear_regression(hours, means)
    left = sum((mean - fit.intercept - fit.slope * hour) ** 2 for hour, mean in zip(hours, means, strict=True))
    middle = statistics.fmean(hours)
    error = (left / (len(hours) - 2) / sum((hour - middle) ** 2 for hour in hours)) ** 0.5
    return Trend(means[0], means[-1], max(values), fit.slope, 2 * error)


def _spans(times: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Mean hour and mean value of each: SPANS parts with as many readings, up to one more."""
    ends = [len(times) * part // SPANS for part in range(SPANS + 1)]
    return [(statistics.fmean(times[a:b]) / 3600, statistics.fmean(values[a:b])) for a, b in pairwise(ends)]
