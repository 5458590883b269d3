"""A thread that sends what waits, in batches, until it is closed."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

Item = TypeVar("Item")

INTERVAL = 0.5
"""Seconds between two looks at what waits."""


class BackgroundSender(ABC, Generic[Item]):
    """`what`: the items in the log, as in "logged media"."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._queue: deque[Item] = deque()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self, within: float = 20.0) -> None:
        """Send what is left, and wait for that up to `within` seconds. It gives up later ones."""
        self._closing.set()
        if self._thread is None:
            return
        self._thread.join(within)
        if self._thread.is_alive():
            log.warning("%d %s were not stored within %g s of the end", len(self._queue), self._what, within)

    def _start(self) -> None:
        """Start the thread, with the first item."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._what, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(INTERVAL):
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while self._queue:
            try:
                self._send_batch()
            except Exception:  # nothing else would report what this thread raises
                log.exception("%s are not stored", self._what)

    @abstractmethod
    def _send_batch(self) -> None:
        """Take some items from the queue and send them. The log has what it raises."""
