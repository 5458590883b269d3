"""Memory that this machine, or the container of this process, has left."""

from __future__ import annotations

from pathlib import Path

import psutil

CGROUP = Path("/sys/fs/cgroup")


def memory_left(cgroup: Path = CGROUP) -> float:
    """Return a share, 0 to 1: that of the machine, or that of the container's limit if it is less."""
    machine = psutil.virtual_memory()
    return min(machine.available / machine.total, _left_of_limit(cgroup))


def _left_of_limit(cgroup: Path) -> float:
    try:
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        cached = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        free = limit - used + int(cached.get("inactive_file", 0))  # which the kernel gives back when it is wanted
        return max(0.0, min(1.0, free / limit))
    except (OSError, ValueError, ZeroDivisionError):  # there is none, or it is "max"
        return 1.0
