"""Logged media on their way into the store, behind the training: a thread encodes and sends them, from the first item on."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import NamedTuple

from gradstream import metrics
from gradstream.errors import GradstreamError
from gradstream.process.store import Store
from gradstream.user_logging.items import MAX_BATCH, MAX_BATCH_BYTES, LoggedItem
from gradstream.user_logging.media import LoggedMedia, Pending
from gradstream.wire.telemetry.reporter import Reporter

log = logging.getLogger(__name__)

EVERY = 0.5
"""Seconds between two batches."""


class _LoggedAt(NamedTuple):
    step: int
    samples: int
    version: int


class MediaSender:
    def __init__(self, store: Store, media: LoggedMedia, reporter: Reporter, rank: int) -> None:
        """`rank`: -1 for the evaluator."""
        self._store, self._media, self._reporter, self._rank = store, media, reporter, rank
        self._queue: deque[tuple[Pending, _LoggedAt, float]] = deque()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._stored = self._reported_dropped = 0
        self._is_full = False
        """The platform takes no more media of this job."""

    def hand_over(self, *, step: int, samples: int, version: int) -> None:
        """Send what was logged since the last call, soon. `LoggedMedia` bounds the memory of what waits."""
        pending = self._media.give_away() if self._is_full else self._media.take()
        if pending and self._is_full:
            self._media.drop("job", "the job has as many as it may", len(pending))
        elif pending:
            self._queue.extend((each, _LoggedAt(step, samples, version), time.time()) for each in pending)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="media", daemon=True)
                self._thread.start()
        if self._media.dropped != self._reported_dropped:
            self._reported_dropped = self._media.dropped
            self._reporter.point(
                metrics.MEDIA_DROPPED, self._reported_dropped, rank=self._rank, step=step, samples=samples, version=version
            )

    def close(self, within: float = 20.0) -> None:
        """Send what is left, and wait for that up to `within` seconds. It gives up later ones."""
        self._closing.set()
        if self._thread is None:
            return
        self._thread.join(within)
        if self._thread.is_alive():
            log.warning("%d logged media were not stored within %g s of the end", len(self._queue), within)

    def _run(self) -> None:
        while not self._closing.wait(EVERY):
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while self._queue:
            try:
                self._send_batch()
            except Exception:  # of this thread nothing else would tell
                log.exception("logged media are not stored")

    def _send_batch(self) -> None:
        items, nbytes, place = list[LoggedItem](), 0, _LoggedAt(0, 0, 0)
        while self._queue and len(items) < MAX_BATCH and nbytes < MAX_BATCH_BYTES:
            pending, place, logged_at = self._queue.popleft()
            content = self._media.encode(pending)
            if content is not None:
                items.append(LoggedItem(pending.name, pending.kind, self._rank, *place, logged_at, content))
                nbytes += len(content)
        if not items:
            return
        try:
            outcome = self._store.put_media(items)
        except GradstreamError as error:
            self._media.drop("store", str(error), len(items))
            return
        if outcome.dropped:
            self._media.drop("job", outcome.why or "the job has as many as it may", outcome.dropped)
            self._is_full = True
        self._stored += len(items) - outcome.dropped
        self._reporter.point(metrics.MEDIA, self._stored, rank=self._rank, **place._asdict())
