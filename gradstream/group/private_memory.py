"""The memory that a process has for itself: pages that it shares with others, as after a fork, do not count. And its GPU's."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import psutil
import torch

_PRIVATE = re.compile(r"^Private_(?:Clean|Dirty): +(\d+) kB", re.MULTILINE)
_REST = 200
"""Time between two looks, over the time that a look takes, which grows with the memory: about 15 ms for each GB."""
_SHORTEST_REST = 1.0
"""Seconds."""


class PrivateMemory:
    """Looks at a process now and then, so that it costs at most half a percent of the time."""

    def __init__(self, of: int | None = None) -> None:
        """`of`: id of the process; None: this one."""
        self._of = of
        self._pid, self._found, self._next = 0, 0, 0.0

    def read(self) -> int:
        """Return bytes, as of the last look. After a fork, the child looks anew. Raises: psutil.Error: the process has ended."""
        if self._pid != os.getpid() or time.monotonic() >= self._next:
            began = time.monotonic()
            self._pid, self._found = os.getpid(), private_bytes(self._of)
            took = time.monotonic() - began
            self._next = began + max(_SHORTEST_REST, _REST * took)
        return self._found


def private_bytes(of: int | None = None) -> int:
    """Return the bytes of the pages that no other process maps; where the system does not say, those that are in no file. `of`: see
    `PrivateMemory`. Raises: psutil.Error: the process has ended."""
    try:
        return 1024 * sum(map(int, _PRIVATE.findall(Path(f"/proc/{of or 'self'}/smaps_rollup").read_text())))
    except OSError:
        held = psutil.Process(of).memory_info()
        return int(held.rss - getattr(held, "shared", 0))


def gpu_bytes(device: torch.device) -> int:
    """Return the largest number of bytes that torch has given this process on its GPU so far; 0: the device is none."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
