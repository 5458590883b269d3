"""Process summaries of a job, folded from its metrics as they arrive. Kept in the job's row with its progress; pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point

_SPENT = {
    metrics.COMPUTE.name: "compute",
    metrics.DATA.name: "data",
    metrics.SEND.name: "send",
    metrics.WAIT.name: "wait",
    metrics.SENT.name: "sent",
    metrics.RECEIVED.name: "received",
}
"""Metrics that are summed over a worker's pushes."""
_LAST = {
    metrics.CPU.name: "cpu",
    metrics.MEMORY.name: "memory",
    metrics.GPU.name: "gpu",
    metrics.GPU_MEMORY.name: "gpu_memory",
    metrics.THROUGHPUT.name: "rate",
    metrics.QUEUE.name: "queue",
    metrics.BUSY.name: "busy",
    metrics.ON_CORE.name: "on_core",
    metrics.CORES.name: "cores",
    metrics.PEER_COMPUTE.name: "compute",
    metrics.PEER_CPU.name: "cpu",
    metrics.PEER_MEMORY.name: "memory",
}
"""Metrics of which only the last value is kept."""
_LEDGER = {metric.name: metric.name.removeprefix("ledger/") for metric in (*metrics.LEDGER, *metrics.REASONS, metrics.ROLLED_BACK)}
_OF_PROCESSES = frozenset({*_SPENT, *_LAST, metrics.APPLY.name})
_EVAL = "eval/"
_PROCESS = re.compile(r"(?:(?:worker|server|peers)-[0-9]{1,9}|evaluator)\.[0-9]{1,9}")
"""Label and incarnation of a process. User code may send under any other name, which is then no process."""
_PEER = re.compile(r"worker-[0-9]{1,9}/[0-9]{1,3}\.[0-9]{1,9}")
"""The same of a process of a group."""
_FADES = 0.2
"""Recent share of the time so far: a fifth, so that an estimate neither jumps nor lags."""
_SHORTEST_MEMORY = 10.0
"""Seconds that count as recent at least."""
_WINDOW = 10.0
"""Seconds of a worker's pushes over which one pace is measured, at least: a push that takes longer is a window of its own."""
_WINDOWS = 12
"""The newest windows whose paces are kept: those of the last two minutes, or of the last 12 pushes."""
_EVALUATIONS = 100
"""Evaluation metrics whose extremes are remembered: user code may give any number of them."""
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


@dataclass(slots=True)
class ProcessSummary:
    """The summary of one process in the live attempt, over all its incarnations. Counting begins after its first push, whose
    duration is not known."""

    incarnation: int = 0
    at: float = 0.0
    """Time of its last sign of life, by its clock or its agent's."""
    step: int = 0
    """Mini-batches of a worker; entries of a shard."""
    first: int | None = None
    """The step of the first push of this incarnation."""
    since: float = 0.0
    """Time of its last push."""
    pushes: int = 0
    steps: int = 0
    """Mini-batches of those pushes."""
    seconds: float = 0.0
    """Seconds that those pushes took, one after another."""
    began: float = 0.0
    """Time of its very first push; 0: none yet."""
    recent_steps: float = 0.0
    recent_seconds: float = 0.0
    """Mini-batches and the seconds that they took, where older ones count less: see `_FADES`."""
    window_steps: int = 0
    window_seconds: float = 0.0
    """Mini-batches and seconds of the window that is not full yet."""
    paces: list[float] = field(default_factory=list)
    """Mini-batches per second of each of the last windows."""
    sums: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)

    @property
    def pause(self) -> float:
        """Seconds between two pushes, on average."""
        return self.seconds / self.pushes if self.pushes else 0.0

    def take(self, incarnation: int, point: Point) -> None:
        if incarnation != self.incarnation:
            self.incarnation, self.first, self.last = incarnation, None, {}
        self.at = max(self.at, point.time)
        if point.name not in _OF_PROCESSES:
            return
        if point.name in _LAST:
            self.last[_LAST[point.name]] = point.value
        elif point.name == metrics.COMPUTE.name and self.first is None:
            self.first, self.step, self.since = point.step, point.step, point.time
            self.began = self.began or point.time
        elif point.name in _SPENT and point.step != self.first:
            self._spend(point)
        if point.name in (metrics.COMPUTE.name, metrics.APPLY.name):
            self.step = point.step

    def _spend(self, point: Point) -> None:
        if point.name == metrics.COMPUTE.name:
            self.pushes += 1
            steps, seconds = max(0, point.step - self.step), max(0.0, point.time - self.since)
            self.steps, self.seconds, self.since = self.steps + steps, self.seconds + seconds, point.time
            kept = math.exp(-seconds / max(_SHORTEST_MEMORY, _FADES * self.seconds))
            self.recent_steps = self.recent_steps * kept + steps
            self.recent_seconds = self.recent_seconds * kept + seconds
            self._fill_window(steps, seconds)
        what = _SPENT[point.name]
        self.sums[what] = self.sums.get(what, 0.0) + point.value

    def _fill_window(self, steps: int, seconds: float) -> None:
        self.window_steps, self.window_seconds = self.window_steps + steps, self.window_seconds + seconds
        if self.window_seconds >= _WINDOW:
            self.paces = [*self.paces, self.window_steps / self.window_seconds][-_WINDOWS:]
            self.window_steps, self.window_seconds = 0, 0.0


class Mark(BaseModel):
    """An evaluation with the lowest or the highest value so far."""

    value: float
    attempt: int
    samples: int
    version: int
    time: float


class Extremes(BaseModel):
    """The extremes of one evaluation metric over the whole job; the reader decides which of them is good."""

    low: Mark
    high: Mark


class ProcessSummaries(BaseModel):
    """Summary of each process, with the ledger and the best evaluations of the job."""

    attempt: int = 0
    processes: dict[str, ProcessSummary] = Field(default_factory=dict)
    """Processes of the live attempt, by label."""
    peers: dict[str, ProcessSummary] = Field(default_factory=dict)
    """Processes of groups in the live attempt, by label: `worker-0/1` is peer 1 of the first worker."""
    ledger: dict[int, dict[str, int]] = Field(default_factory=dict)
    """Pushes of each worker, by outcome. A new attempt resumes with the counts of its checkpoint; only the count of rolled-back
    pushes goes on."""
    rolled_back: dict[int, int] = Field(default_factory=dict)
    """Pushes that the end of an attempt rolled back, by attempt."""
    reached: dict[int, int] = Field(default_factory=dict)
    """Most samples that the center had seen, by attempt."""
    evaluations: dict[str, Extremes] = Field(default_factory=dict)

    def worker(self, rank: int) -> ProcessSummary | None:
        return self.processes.get(f"worker-{rank}")

    def take(self, source: str, attempt: int, points: Sequence[Point]) -> None:
        """`source`: the label of who measured them, and its incarnation. Points of an attempt that is over are not for this."""
        if not points:
            return
        if attempt != self.attempt:
            self.attempt, self.processes, self.peers = attempt, {}, {}
            self.ledger = {rank: {"rolled_back": account.get("rolled_back", 0)} for rank, account in self.ledger.items()}
        self.reached[attempt] = max(self.reached.get(attempt, 0), max(point.samples for point in points))
        dated = [point for point in points if 0 <= point.time < _END_OF_TIME]
        for point in points:
            if point.name in _LEDGER:
                self._enter(attempt, point)
        for point in dated:
            if point.name.startswith(_EVAL):
                self._judge(attempt, point)
        found = self.processes if _PROCESS.fullmatch(source) else self.peers if _PEER.fullmatch(source) else None
        if dated and found is not None:
            label, _, incarnation = source.rpartition(".")
            process, number = found.setdefault(label, ProcessSummary()), int(incarnation)
            for point in dated:
                process.take(number, point)

    def _enter(self, attempt: int, point: Point) -> None:
        account = self.ledger.setdefault(point.rank, {})
        if point.name == metrics.ROLLED_BACK.name:
            more = int(point.value) - account.get("rolled_back", 0)
            self.rolled_back[attempt] = self.rolled_back.get(attempt, 0) + max(0, more)
        account[_LEDGER[point.name]] = int(point.value)

    def _judge(self, attempt: int, point: Point) -> None:
        mark = Mark(value=point.value, attempt=attempt, samples=point.samples, version=point.version, time=point.time)
        if point.name not in self.evaluations and len(self.evaluations) >= _EVALUATIONS:
            return
        known = self.evaluations.setdefault(point.name, Extremes(low=mark, high=mark))
        if point.value < known.low.value:
            known.low = mark
        if point.value > known.high.value:
            known.high = mark
