"""Logged media on their way into the store, behind the training. The thread that sends them encodes them, too."""

from __future__ import annotations

import time
from typing import NamedTuple

from gradstream import metrics
from gradstream.errors import GradstreamError
from gradstream.process.store import Store
from gradstream.user_logging.items import MAX_BATCH, MAX_BATCH_BYTES, LoggedItem
from gradstream.user_logging.media import LoggedMedia, Pending
from gradstream.wire.telemetry.reporter import Reporter
from worker_node.senders.background import BackgroundSender


class _LoggedAt(NamedTuple):
    step: int
    samples: int
    version: int


class MediaSender(BackgroundSender[tuple[Pending, _LoggedAt, float]]):
    def __init__(self, store: Store, media: LoggedMedia, reporter: Reporter, rank: int) -> None:
        """`rank`: -1 for the evaluator."""
        super().__init__("logged media")
        self._store, self._media, self._reporter, self._rank = store, media, reporter, rank
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
            self._start()
        if self._media.dropped != self._reported_dropped:
            self._reported_dropped = self._media.dropped
            self._reporter.point(
                metrics.MEDIA_DROPPED, self._reported_dropped, rank=self._rank, step=step, samples=samples, version=version
            )

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
