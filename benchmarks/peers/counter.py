"""Steps and losses of the processes that train, read by the meter while they run.

Each process has one small mapped file, so counting costs a few stores and no system call, for every system alike."""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

_SLOTS = struct.Struct("=QQdddd")
"""Steps, samples, time of the first step, of the last one, mean loss of the first steps, a running mean of the losses."""
_FIRST = 10
_KEPT = 0.95


class Count(NamedTuple):
    steps: int
    samples: int
    began: float
    """Of the clock that all processes share (`time.monotonic`), in seconds; 0 before the first step."""
    last: float
    first_loss: float
    loss: float


class Counter:
    """Made by the process that trains, one for each."""

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder) / f"{uuid4().hex}.count"
        path.write_bytes(bytes(_SLOTS.size))
        with path.open("r+b") as file:
            self._view = memoryview(mmap.mmap(file.fileno(), _SLOTS.size))
        self._whole, self._real = self._view.cast("Q"), self._view.cast("d")

    def add(self, samples: int, loss: float, steps: int = 1) -> None:
        """A step was made, or `steps` were, with this many samples in all. `loss`: of the last one, before it."""
        whole, real = self._whole, self._real
        now = time.monotonic()
        made = whole[0]
        if not made:
            real[2], real[5] = now, loss
        if made < _FIRST:
            real[4] += (loss - real[4]) / (made + 1)
        kept = _KEPT**steps
        real[5] = kept * real[5] + (1 - kept) * loss
        real[3] = now
        whole[1] += samples
        whole[0] = made + steps  # last: who sees it, sees the time of the first step, too


def read(folder: Path) -> list[Count]:
    """Of all processes that count in this folder and have made a step."""
    found = (path.read_bytes() for path in sorted(folder.glob("*.count")))
    return [count for data in found if len(data) == _SLOTS.size and (count := Count(*_SLOTS.unpack(data))).steps]


def joined(counts: Iterable[Count]) -> Count:
    """All workers as one: sums, the time at which the last one began, mean losses."""
    counts = list(counts)
    n = len(counts)
    return Count(
        sum(c.steps for c in counts),
        sum(c.samples for c in counts),
        max(c.began for c in counts),
        max(c.last for c in counts),
        sum(c.first_loss for c in counts) / n,
        sum(c.loss for c in counts) / n,
    )
