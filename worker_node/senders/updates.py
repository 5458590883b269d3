"""Update samples on their way into the store, behind the training."""

from __future__ import annotations

import logging

from gradstream.errors import GradstreamError
from gradstream.process.store import Store
from gradstream.updates.sample import MAX_BATCH, UpdateSample
from worker_node.senders.background import BackgroundSender

log = logging.getLogger(__name__)

MAX_WAITING = 500
"""Samples that may wait while the store is away: about 20 MB with 64 layers."""


class UpdatesSender(BackgroundSender[UpdateSample]):
    def __init__(self, store: Store) -> None:
        super().__init__("update samples")
        self._store = store
        self._is_full = False
        """The platform takes no more samples of this job."""
        self.lost = 0
        """Samples that a limit dropped."""
        self._logged_reasons = set[str]()

    def add(self, sample: UpdateSample) -> None:
        """Send a sample soon."""
        if self._is_full:
            self.lost += 1  # the log has the reason
            return
        if len(self._queue) >= MAX_WAITING:
            self._lose(1, f"{MAX_WAITING} samples wait for the store")
            return
        self._queue.append(sample.model_copy(update={"lost": sample.lost + self.lost}))
        self._start()

    def _send_batch(self) -> None:
        batch = [self._queue.popleft() for _ in range(min(MAX_BATCH, len(self._queue)))]
        try:
            outcome = self._store.put_updates(batch)
        except GradstreamError as error:
            self._lose(len(batch), str(error))
            return
        except Exception as error:
            self._lose(len(batch), repr(error))
            raise
        if outcome.dropped:
            self._is_full = True
            self._lose(outcome.dropped, outcome.why or "the job has as many as it may")

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        if why not in self._logged_reasons and len(self._logged_reasons) < MAX_BATCH:
            self._logged_reasons.add(why)
            log.warning("update samples are dropped: %s. Training goes on", why)
