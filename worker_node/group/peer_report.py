"""The reports of the processes of a group: how long each computes, and what it takes of its machine."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from gradstream import metrics
from gradstream.group.private_memory import PrivateMemory
from gradstream.group.problem import GroupProblem
from gradstream.group.requests import PeerUse
from gradstream.process.order import ProcessOrder
from gradstream.wire.telemetry.reporter import Reporter


class PeerReport:
    def __init__(self, reporter: Reporter, order: ProcessOrder, problem: GroupProblem, every: float) -> None:
        """`every`: seconds between two reports."""
        self._reporter, self._problem, self._every = reporter, problem, every
        self._memory = PrivateMemory()
        self._label, self._incarnation = order.label, order.incarnation
        self._compute = self._computed = 0.0
        """Seconds of the worker's compute time since the last report, and those of them that the lead did not wait for others."""
        self._told, self._cpu = -math.inf, dict[int, float]()
        """Time of the last report, and each peer's processor time then, by its number."""

    def pushed(self, compute: float, waited: float, place: Mapping[str, int]) -> None:
        """Report if it is time to. `compute`: seconds of the push; `waited`: those for which the lead waited. Raises: PeerLost."""
        self._compute, self._computed = self._compute + compute, self._computed + compute - waited
        elapsed = time.perf_counter() - self._told
        if elapsed < self._every:
            return
        own = PeerUse(self._computed, time.process_time(), self._memory.read(), self._problem.gpu_memory)
        uses = [own, *self._problem.take_peer_uses()]
        for number, use in enumerate(uses):
            self._report(number, use, elapsed, place)
        self._compute = self._computed = 0.0
        self._told = time.perf_counter()

    def _report(self, number: int, use: PeerUse, elapsed: float, place: Mapping[str, int]) -> None:
        values = {metrics.PEER_MEMORY: float(use.memory)}
        if use.gpu_memory:
            values[metrics.PEER_GPU_MEMORY] = float(use.gpu_memory)
        if self._compute:
            values[metrics.PEER_COMPUTE] = min(1.0, max(0.0, use.computed / self._compute))
        if number in self._cpu:
            values[metrics.PEER_CPU] = (use.cpu - self._cpu[number]) / elapsed
        self._cpu[number] = use.cpu
        self._reporter.points_from(f"{self._label}/{number}.{self._incarnation}", values, **place)
