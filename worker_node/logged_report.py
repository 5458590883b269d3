"""The reports of what a workload has logged, at a bounded rate: a report that waits covers more calls, so that no value is lost."""

from __future__ import annotations

import time
from collections.abc import Callable

from gradstream import metrics
from gradstream.user_logging.names import EVALUATION, GROUP
from gradstream.user_logging.scalars import LoggedScalars
from gradstream.wire.telemetry.reporter import Reporter

MAX_RATE = 200.0
"""Values per second that a worker reports."""


class LoggedReport:
    def __init__(
        self, reporter: Reporter, logged: LoggedScalars, rank: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """`rank`: -1 for the evaluator."""
        self._reporter, self._logged, self._rank, self._clock = reporter, logged, rank, clock
        self._prefix = GROUP if rank >= 0 else EVALUATION
        self._due = clock()
        self._told_dropped = 0

    def is_due(self) -> bool:
        """Return whether the rate allows a report now."""
        return self._clock() >= self._due

    def send(self, *, step: int, samples: int, version: int) -> None:
        """Report what was logged since the last report."""
        values = {f"{self._prefix}{name}": value for name, value in self._logged.take().items()}
        if self._logged.dropped != self._told_dropped:
            self._told_dropped = self._logged.dropped
            values[metrics.LOG_DROPPED.name] = self._told_dropped
        if values:
            self._reporter.points(values, rank=self._rank, step=step, samples=samples, version=version)
            self._due = self._clock() + len(values) / MAX_RATE
