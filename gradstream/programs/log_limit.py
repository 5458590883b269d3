"""A limit on log lines about something that happens again and again, as whoever sends junk decides how often."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable

EVERY = 60.0
"""Seconds between two lines about the same."""
_MAX_KEYS = 1000


class LogLimit:
    """Lets one line through per key and `every` seconds, and counts the others. For any thread."""

    def __init__(self, every: float = EVERY) -> None:
        self._every = every
        self._last: dict[Hashable, float] = {}
        self._held_back: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def take(self, key: Hashable = None) -> int | None:
        """How many lines were held back since the last one; None: hold this one back, too."""
        moment = time.monotonic()
        with self._lock:
            if key in self._last and moment - self._last[key] < self._every:
                self._held_back[key] = self._held_back.get(key, 0) + 1
                return None
            if len(self._last) >= _MAX_KEYS:
                self._last.clear()
                self._held_back.clear()
            self._last[key] = moment
            return self._held_back.pop(key, 0)
