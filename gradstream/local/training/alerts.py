"""The alerts of one run of `gradstream train`: the sentences that the platform writes for the same job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gradstream.center.ledger import StarvedWorker
from gradstream.gate import Gate
from gradstream.metrics import (
    AWAITED,
    COMPARED_ROWS,
    LATE_FILES,
    LOG_DROPPED,
    MEDIA_DROPPED,
    RETRANSMISSIONS,
    ROWS_BEYOND,
    SHARED_MEMORY_SHORTFALL,
    SHARED_ROWS,
    STARVED,
    Point,
)
from gradstream.process.watchdogs.start import Hang, ended_sentence, hang_sentences
from gradstream.progress import alerts, awaited, damage, full_disk, log_dropped, shared_memory
from gradstream.progress.evaluation_alerts import late_files_sentence, not_finite_sentence, overlap_sentence
from gradstream.progress.pass_alerts import PassWatch
from gradstream.progress.process_summary import ProcessSummaries
from gradstream.progress.remaining import Remaining
from gradstream.progress.source_alerts import SourceTrouble
from gradstream.progress.table_alerts import TableWatch

_Key = tuple[object, ...]
"""Kind and subject of an alert, and what else makes it another one."""

_OF_PROCESSES = {
    LOG_DROPPED.name: log_dropped.sentence,
    MEDIA_DROPPED.name: log_dropped.media_sentence,
    RETRANSMISSIONS.name: damage.sentence,
}
"""Sentences of alerts that a run raises once for each process, by metric."""


class RunAlerts:
    """Each alert once, in the order in which the run raised them, as it was worded last."""

    def __init__(self, gate: Gate, *, endless: bool = False) -> None:
        """`endless`: the job never ends by itself."""
        self._gate, self._endless = gate, endless
        self._raised: dict[_Key, str] = {}
        self._lasting: dict[_Key, str] = {}
        """The sentences that say alerts are over, of those that there are, by kind and subject."""
        self._over: set[_Key] = set()
        """Alerts that are over."""
        self._fresh: list[str] = []
        """Sentences that `take_new` has not returned yet."""
        self._resolved: list[str] = []
        """Sentences that `take_resolved` has not returned yet."""
        self._hung: dict[tuple[str, str | None], dict[str, Hang]] = {}
        """The processes that took long to start, by place and label."""
        self._hanging: set[tuple[str, str | None]] = set()
        """The places where processes take long now."""
        self._shortfalls: dict[int, int] = {}
        self._starved: set[int] = set()
        self._compared_rows = 0
        self._slow: dict[int, float] = {}
        self._dropping: list[str] = []
        self._remaining, self._summaries, self._passes = Remaining(), ProcessSummaries(), PassWatch()
        self._tables, self._source = TableWatch(), SourceTrouble()
        self._rows_beyond: dict[str, int] = {}
        self._awaited: dict[int, float] = {}

    @property
    def sentences(self) -> list[str]:
        return list(self._raised.values())

    def take_new(self) -> list[str]:
        """The alerts that were raised since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def take_resolved(self) -> list[str]:
        """A sentence for each alert that is over since the last call."""
        resolved, self._resolved = self._resolved, []
        return resolved

    def take(self, batches: Sequence[tuple[str, Sequence[Point]]], attempt: int) -> None:
        """Look at the metrics of an attempt, each batch with its source."""
        self._begin(attempt)
        for source, points in batches:
            for point in points:
                self._take_point(source, point)
            self._summaries.take(source, attempt, [point for point in points if math.isfinite(point.value)])
        self._slow = alerts.slow_workers(self._slow, self._summaries)
        self._dropping = alerts.dropped_reasons(self._dropping, self._summaries.ledger)
        for rank, factor in self._slow.items():
            if factor and rank not in self._starved:
                self._raise(("slow", rank), self._slow_sentence(rank, factor))
        for kind, sentence in self._passes.alerts().items():
            self._raise(("passes", kind), sentence)
        for label in self._tables.full:
            self._raise(("tables", label), self._tables.sentence(label))
        for key, sentence in self._source.alerts().items():
            self._raise(("source", *key), sentence)
        self._raise_counted()
        for reason in self._dropping:
            self._raise(("dropped", reason), alerts.dropped_sentence(reason, self._summaries.ledger, self._gate))
        self._resolve()

    def _raise_counted(self) -> None:
        """Raise the alerts that last until a count is 0."""
        for label, rows in self._rows_beyond.items():
            if rows:
                self._raise(("disk", label), full_disk.sentence(label, rows))
        for rank, seconds in self._awaited.items():
            if seconds:
                self._raise(("awaited", rank), awaited.sentence(rank, seconds))

    def take_hangs(self, hangs: Mapping[str, Hang]) -> None:
        """`hangs`: processes that take long to start, by label. One sentence for each place."""
        for label, hang in hangs.items():
            at_place = self._hung.setdefault(hang.place, {})
            at_place.setdefault(label, hang)
            self._raise(("hang", *hang.place), hang_sentences(at_place)[0])
        there = {hang.place for hang in hangs.values()}
        for place in self._hanging - there:
            self._resolved.append(ended_sentence(self._hung[place]))
            self._over.add(("hang", *place))
        self._hanging = there

    def _begin(self, attempt: int) -> None:
        """Speeds and shares begin anew with an attempt; what was raised stays."""
        if attempt != self._summaries.attempt:
            self._slow, self._remaining, self._passes, self._tables = {}, Remaining(), PassWatch(), TableWatch()
            self._source, self._rows_beyond, self._lasting, self._awaited = SourceTrouble(), {}, {}, {}

    def _take_point(self, source: str, point: Point) -> None:
        self._remaining.take(point)
        if math.isfinite(point.value):
            self._passes.take(point)
            self._tables.take(source.rpartition(".")[0], point)
            self._source.take(point)
        if point.name.startswith("eval/") and not math.isfinite(point.value):
            self._raise_once(("evaluation", point.name), not_finite_sentence(point.name, point.samples))
        elif point.name == STARVED.name:
            self._starved.add(point.rank)
            self._raise_once(("starved", point.rank), StarvedWorker(point.rank, int(point.value)).sentence(self._gate))
        elif point.name == SHARED_MEMORY_SHORTFALL.name and point.rank not in self._shortfalls:
            self._shortfalls[point.rank] = int(point.value)
            self._raised.pop(("shared memory",), None)  # told anew: it concerns one more worker
            self._raise(("shared memory",), shared_memory.sentence(self._shortfalls))
        elif sentence := _OF_PROCESSES.get(point.name):
            who = source.rpartition(".")[0] or source
            self._raise_once((point.name, who), sentence(who))
        elif point.name == AWAITED.name:
            self._awaited[point.rank] = point.value
        elif point.name == ROWS_BEYOND.name:
            self._rows_beyond[source.rpartition(".")[0]] = int(point.value)
        elif point.name == COMPARED_ROWS.name:
            self._compared_rows = int(point.value)
        elif point.name == LATE_FILES.name and point.value:
            self._raise_once(("late files", int(point.value)), late_files_sentence(int(point.value)))
        elif point.name == SHARED_ROWS.name and point.value:
            self._raise_once(("overlap",), overlap_sentence(int(point.value), self._compared_rows))

    def _slow_sentence(self, rank: int, factor: float) -> str:
        kept, left = self._remaining, self._remaining.left
        finished = 0 if rank in left else len(left)
        how = {"follows": self._passes.follows, "dealt": bool(kept.dealt), "endless": self._endless, "on_platform": False}
        part = alerts.longest_part(rank, self._summaries, self._gate)
        return alerts.slow_sentence(rank, factor, self._gate, finished, len(kept.shares), part=part, **how)

    def _raise_once(self, key: _Key, sentence: str) -> None:
        if key not in self._raised:
            self._raise(key, sentence)

    def _raise(self, key: _Key, sentence: str) -> None:
        """Reword the alert of this key, or raise it: for the first time, or anew after it was over."""
        if key not in self._raised or key in self._over:
            self._fresh.append(sentence)
        self._over.discard(key)
        self._raised[key] = sentence

    def _resolve(self) -> None:
        """Note which alerts are over."""
        kinds: dict[str, Mapping[Any, str]] = {
            "slow": alerts.slow_resolutions(self._slow),
            "passes": self._passes.resolutions(),
            "tables": self._tables.resolutions(),
            "source": self._source.resolutions(),
            "disk": full_disk.resolutions(self._rows_beyond),
            "awaited": awaited.resolutions(self._awaited),
        }
        still: dict[_Key, str] = {(kind, subject): sentence for kind, found in kinds.items() for subject, sentence in found.items()}
        for key in self._lasting.keys() - still.keys():
            self._resolved.append(self._lasting[key])
            self._over.update(raised for raised in self._raised if raised[:2] == key)
        self._lasting = still
