"""The progress of a run of attacks. It is printed while the run goes on, so a run that is cut off still counts."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.hostile.runs import FIRST

INTERVAL = 30.0
"""Seconds between two lines."""


class Progress:
    """`uncaptured`: pytest shows what is printed inside of it."""

    def __init__(self, what: str, uncaptured: Callable[[], AbstractContextManager[None]], interval: float = INTERVAL) -> None:
        self._what, self._uncaptured, self._interval = what, uncaptured, interval
        self._next = time.monotonic() + interval
        self.met = Counter[str]()
        """Attacks by their outcome: the status of an answer, or a word."""
        self.slowest = (0.0, FIRST)
        """Seconds and seed."""

    def note(self, seed: int, outcome: str, seconds: float = 0.0) -> None:
        self.met[outcome] += 1
        self.slowest = max(self.slowest, (seconds, seed))
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._interval
            with self._uncaptured():
                print(f"\n{self}", file=sys.stderr, flush=True)  # noqa: T201

    def __str__(self) -> str:
        seconds, seed = self.slowest
        met = ", ".join(f"{outcome}: {count:,}" for outcome, count in sorted(self.met.items()))
        return f"{self.met.total():,} {self._what} from seed {FIRST:,}: {met}; the slowest {seconds:.2f} s, seed {seed}"
