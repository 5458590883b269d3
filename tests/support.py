"""What tests of every kind share: waiting with a bound, and the handles of the servers that the fixtures start."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

TIMEOUT = 60.0
"""Seconds. What a test starts and expects to end otherwise than by itself must last longer."""
JOB_TIMEOUT = 4 * TIMEOUT
"""Seconds until the end of a job that ends by itself, of seconds of work. As `TIMEOUT`, it is for what never comes."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.5
"""Seconds between two questions of `eventually`."""


def eventually(condition: Callable[[], T], what: str, timeout: float = TIMEOUT) -> T:
    """Ask until the answer is true, and return it; fail, saying what was waited for, after `timeout` seconds.

    The bound is for what never comes. How quickly something comes no test can say: others may have the machine. A question that
    takes long is asked less often: answers cost time of the processes that the test waits for."""
    deadline = time.monotonic() + timeout
    while True:
        asked = time.monotonic()
        if answer := condition():
            return answer
        now = time.monotonic()
        if now > deadline:
            raise AssertionError(f"waited {timeout:g} s for {what}; the last answer was {answer!r}")
        time.sleep(min(max(SHORTEST_PAUSE, 4 * (now - asked)), LONGEST_PAUSE))


@dataclass(frozen=True)
class Database:
    """One database on the tests' Postgres. `url` goes into settings, `dsn` (with the password) to psycopg."""

    url: str
    password: str
    password_file: Path

    @property
    def dsn(self) -> str:
        return self.url.replace("gradstream@", f"gradstream:{self.password}@", 1)
