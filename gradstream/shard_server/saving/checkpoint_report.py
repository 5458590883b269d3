"""Reports how long checkpoints take to be stored, and which ones are skipped meanwhile. Shard 0 reports for all processes."""

from __future__ import annotations

import time

from gradstream.center.checkpoint_schedule import CheckpointSchedule
from gradstream.center.entries import FINAL_CHECKPOINT, Committed, Entry
from gradstream.metrics.checkpoints import CHECKPOINT_SECONDS, CHECKPOINTS_SKIPPED
from gradstream.process.order import ProcessOrder
from gradstream.wire.telemetry.reporter import Reporter


class CheckpointReport:
    def __init__(self, reporter: Reporter, order: ProcessOrder, schedule: CheckpointSchedule) -> None:
        self._reporter, self._schedule, self._is_first = reporter, schedule, order.rank == 0
        self._interval = order.spec.checkpoint.cadence.seconds
        """Seconds between two checkpoints; None: the job sets samples."""
        self._number, self._made_at = FINAL_CHECKPOINT, 0.0
        """The checkpoint that was made last, and when."""
        self._skipping_at = FINAL_CHECKPOINT
        """The last checkpoint for which a skipped one was reported."""

    def made(self, number: int) -> None:
        self._number, self._made_at = number, time.monotonic()

    def handled(self, entry: Entry) -> None:
        """Look for news after each entry."""
        if not self._is_first or self._number == FINAL_CHECKPOINT:
            return
        if isinstance(entry, Committed) and entry.what == "checkpoint" and entry.number == self._number:
            seconds = time.monotonic() - self._made_at
            skipped = int(seconds // self._interval) if self._interval else self._schedule.skipped
            found = {CHECKPOINT_SECONDS: seconds, CHECKPOINTS_SKIPPED: skipped}
            self._reporter.points(found, step=self._number)
            self._number = FINAL_CHECKPOINT
        elif self._schedule.skipped and self._skipping_at != self._number:
            self._skipping_at = self._number
            self._reporter.points({CHECKPOINTS_SKIPPED: 1}, step=self._number)
