"""Update samples on their way into the store, behind the training: a thread sends them, from the first one on."""

from __future__ import annotations

import logging
import threading
from collections import deque

from gradstream.errors import GradstreamError
from gradstream.process.store import Store
from gradstream.updates.sample import MAX_BATCH, UpdateSample

log = logging.getLogger(__name__)

INTERVAL = 0.5
"""Seconds between two batches."""
MAX_WAITING = 500
"""Samples that may wait while the store is away: about 20 MB with 64 layers."""


class UpdatesSender:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: deque[UpdateSample] = deque()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_full = False
        """The platform takes no more samples of this job."""
        self.lost = 0
        """Samples that a limit dropped."""
        self._told = set[str]()

    def add(self, sample: UpdateSample) -> None:
        """Send a sample soon."""
        if self._is_full or len(self._queue) >= MAX_WAITING:
            self._lose(1, f"{MAX_WAITING} samples wait for the store")
            return
        self._queue.append(sample.model_copy(update={"lost": sample.lost + self.lost}))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="updates", daemon=True)
            self._thread.start()

    def close(self, within: float = 20.0) -> None:
        """Send what is left, and wait for that up to `within` seconds."""
        self._closing.set()
        if self._thread is None:
            return
        self._thread.join(within)
        if self._thread.is_alive():
            log.warning("%d update samples were not stored within %g s of the end", len(self._queue), within)

    def _run(self) -> None:
        while not self._closing.wait(INTERVAL):
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(MAX_BATCH, len(self._queue)))]
            try:
                outcome = self._store.put_updates(batch)
            except GradstreamError as error:
                self._lose(len(batch), str(error))
                continue
            except Exception as error:  # nothing else would report what this thread raises
                log.exception("update samples are not stored")
                self._lose(len(batch), repr(error))
                continue
            if outcome.dropped:
                self._is_full = True
                self._lose(outcome.dropped, outcome.why or "the job has as many as it may")

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        if why not in self._told and len(self._told) < MAX_BATCH:
            self._told.add(why)
            log.warning("update samples are dropped: %s. Training goes on", why)
