"""Metrics from a job process to the control plane: collected, numbered, and sent a few times a second by a thread of its
own, so that training never waits for them."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from gradstream.errors import PlaneLost
from gradstream.metrics import Metric
from gradstream.process.order import PlaneAccess
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.telemetry import records
from gradstream.wire.telemetry.records import Record

log = logging.getLogger(__name__)

EVERY = 0.25
MAX_RECORDS = 1000
"""Records per batch."""
WAITING = 10_000
"""Batches that may wait in Redis to be stored. With more, metrics are not being stored just now, and gradients need the memory
more."""
KEPT = 100_000
"""Records kept in this process meanwhile; beyond that the oldest are given up, and the log says how many."""


class Reporter:
    """Batches are numbered from 0 for each source; one that is stored twice counts once, by (source, number). `source`: label and
    incarnation of this process."""

    def __init__(self, access: PlaneAccess, j: str, source: str) -> None:
        self._redis = connect(Routes(access, j).home.url, user=access.user, password=access.password)
        self._key, self._source = keys.metrics(j), source
        self._records: list[tuple[str, Record]] = []
        """Each with its source."""
        self._numbers = Counter[str]()
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reporter", daemon=True)
        self._thread.start()

    def point(
        self, metric: Metric | str, value: float, *, rank: int = -1, step: int = 0, samples: int = 0, version: int = 0
    ) -> None:
        with self._lock:
            self._records.append((self._source, (time.time(), rank, step, samples, version, _name_of(metric), value)))

    def points(
        self,
        values: Mapping[Metric, float] | Mapping[str, float],
        *,
        rank: int = -1,
        step: int = 0,
        samples: int = 0,
        version: int = 0,
    ) -> None:
        """Several, measured at one moment."""
        self.points_from(self._source, values, rank=rank, step=step, samples=samples, version=version)

    def points_from(
        self,
        source: str,
        values: Mapping[Metric, float] | Mapping[str, float],
        *,
        rank: int = -1,
        step: int = 0,
        samples: int = 0,
        version: int = 0,
    ) -> None:
        """Several, measured at one moment by another process, which has no reporter. `source`: its label and incarnation."""
        named = [part for metric, value in values.items() for part in (_name_of(metric), value)]
        with self._lock:
            self._records.append((source, (time.time(), rank, step, samples, version, *named)))

    def flush(self) -> None:
        """Send what waits, now. Raises: PlaneLost."""
        with self._sending:
            self._flush()

    def close(self, within: float = 10.0) -> None:
        """Send what is left, and wait for that up to `within` seconds."""
        self._closing.set()
        self._thread.join(within)

    def _run(self) -> None:
        try:
            while not self._closing.wait(EVERY):
                self.flush()
            self.flush()
        except PlaneLost as error:
            log.warning("metrics are not sent any more: %s", error)

    def _flush(self) -> None:
        while self._records:
            if retry(lambda: self._redis.xlen(self._key), what="metrics") >= WAITING:
                self._keep_the_newest()
                return
            with self._lock:
                batch, self._records = self._records[:MAX_RECORDS], self._records[MAX_RECORDS:]
            for source in dict.fromkeys(source for source, _ in batch):
                points = records.pack([record for its, record in batch if its == source])
                self._send({b"source": source, b"batch": self._numbers[source], b"points": points})
                self._numbers[source] += 1

    def _send(self, fields: dict[bytes, Any]) -> None:
        retry(lambda: self._redis.xadd(self._key, fields, nomkstream=True), what="metrics")  # type: ignore[arg-type]

    def _keep_the_newest(self) -> None:
        with self._lock:
            lost = max(0, len(self._records) - KEPT)
            self._records = self._records[lost:]
        if lost:
            log.warning("%d records are dropped: the platform does not store metrics now, and the buffer is full", lost)


def _name_of(metric: Metric | str) -> str:
    return metric if isinstance(metric, str) else metric.name
