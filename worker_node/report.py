"""The reports of a worker: what it begins with, the loss of each mini-batch, and where the time of each push went."""

from __future__ import annotations

import math
import time

from gradstream import metrics
from gradstream.center.entries import Push
from gradstream.center.positions import taken_at
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Lag
from gradstream.input.overlap import Overlap
from gradstream.model.core_share import physical_cores
from gradstream.model.problem import ModelProblem
from gradstream.process.order import ProcessOrder
from gradstream.serverless.ports import AnyServerlessPort
from gradstream.training.link import Link
from gradstream.training.replica import Replica
from gradstream.wire.port import RedisPort
from gradstream.wire.telemetry.reporter import Reporter
from worker_node.group.peer_report import PeerReport
from worker_node.logged_report import LoggedReport
from worker_node.rate import Rate
from worker_node.senders.media import MediaSender
from worker_node.settings import WorkerSettings


class WorkerReport:
    def __init__(
        self,
        reporter: Reporter,
        order: ProcessOrder,
        w: Replica,
        link: Link,
        port: RedisPort | AnyServerlessPort,
        problem: ModelProblem,
        settings: WorkerSettings,
        media: MediaSender,
    ) -> None:
        """Report at once what this worker begins with."""
        self._reporter, self._rank, self._settings = reporter, order.rank, settings
        self._w, self._link, self._port, self._problem = w, link, port, problem
        if order.shared and order.shared.servers and not port.shares:
            reporter.point(metrics.SHARED_MEMORY_SHORTFALL, (2 + order.spec.pipeline) * port.nbytes, rank=order.rank)
        if problem.total_samples:
            mean = -(-problem.planned // order.spec.roles.worker.count)
            reporter.point(metrics.SHARE, mean if problem.planned else problem.total, rank=order.rank)
        reporter.point(metrics.CORES, physical_cores(), rank=order.rank)
        self._last = time.perf_counter()
        self._rate = Rate()
        self._told_on_core = -math.inf
        self._peers = PeerReport(reporter, order, problem, settings.peers_every) if isinstance(problem, GroupProblem) else None
        self._logged, self._media = LoggedReport(reporter, problem.logged, order.rank), media
        self._lag = Lag(-1, 0, (), is_unreachable=False)
        """As last reported."""

    def data(self, overlap: Overlap | None) -> None:
        """Report the length of the run, and what the splits share; None: they were not compared."""
        if overlap:
            self._reporter.points({metrics.COMPARED_ROWS: overlap.compared, metrics.SHARED_ROWS: overlap.shared}, rank=0)
        if self._problem.total_samples:
            self._reporter.point(metrics.TOTAL, self._problem.total_samples)
        if self._problem.epoch_samples:
            self._reporter.point(metrics.EPOCH, self._problem.epoch_samples)

    def trained(self, t: int, loss: float) -> None:
        """Report the loss of a mini-batch."""
        samples, version = self._w.samples.seen, self._link.version
        self._reporter.point(metrics.LOSS, loss, rank=self._rank, step=t, samples=samples, version=version)
        if self._logged.is_due():
            self._logged.send(step=t, samples=samples, version=version)
        self._media.hand_over(step=t, samples=samples, version=version)

    def logged(self, t: int) -> None:
        """Report what the workload has logged and was not due yet. It logs no more."""
        place = {"step": t, "samples": self._w.samples.seen, "version": self._link.version}
        self._logged.send(**place)
        self._media.hand_over(**place)
        self._media.close()

    def pushed(self, push: Push) -> None:
        """Report where the time of a push went, and begin to count for the next one."""
        now = time.perf_counter()
        sent, raw, received = self._port.take_traffic()
        values = {
            metrics.THROUGHPUT: self._rate.after(push.examples, now - self._last),
            metrics.COMPUTE: self._w.batches.compute_seconds - self._problem.data_seconds,
            metrics.DATA: self._problem.data_seconds,
            metrics.SEND: self._link.send_seconds,
            metrics.WAIT: self._link.wait_seconds,
            metrics.SENT: sent,
            metrics.RAW: raw,
            metrics.RECEIVED: received,
        }
        if isinstance(self._problem, GroupProblem):
            values[metrics.PEER_WAIT] = self._problem.take_peer_wait()
        if self._problem.tables:
            values[metrics.KEYS_ASKED_LATE] = self._problem.take_looked_up_late()
        if (cached := self._problem.take_cached_share()) is not None:
            values[metrics.ROWS_CACHED] = cached
        if scale := self._problem.scale:
            values |= {metrics.LOSS_SCALE: scale.value, metrics.OVERFLOWS: scale.overflows}
        if self._link.codec_error:
            values[metrics.CODEC_ERROR] = self._link.codec_error
        on_core = self._problem.on_core.share if self._problem.on_core else None
        if on_core is not None and now >= self._told_on_core + self._settings.on_core_every:
            values[metrics.ON_CORE], self._told_on_core = on_core, now
        place = {"step": taken_at(push.position), "samples": self._link.samples, "version": self._link.version}
        self._reporter.points(values, rank=push.rank, **place)
        if self._peers:
            self._peers.pushed(values[metrics.COMPUTE], values[metrics.PEER_WAIT], place)
        self.lag()
        self._last, self._w.batches.compute_seconds, self._problem.data_seconds, self._link.wait_seconds = now, 0.0, 0.0, 0.0

    def lag(self) -> None:
        """Report how far this worker is behind the data that it follows, and which of it is out of reach, if that has changed."""
        lag = self._problem.lag(self._w.t)
        if lag is None or lag == self._lag:
            return
        if lag.leaderless != self._lag.leaderless:
            self._reporter.point(metrics.LEADERLESS, len(lag.leaderless), rank=self._rank, step=min(lag.leaderless, default=0))
        if lag.is_unreachable != self._lag.is_unreachable:
            self._reporter.point(metrics.UNREACHABLE, int(lag.is_unreachable), rank=self._rank)
        self._lag = lag
        values = {metrics.BEHIND: lag.behind} | ({metrics.LATE_FILES: lag.late} if lag.late and self._rank == 0 else {})
        place = {"step": self._w.t, "samples": self._link.samples, "version": self._link.version}
        self._reporter.points(values, rank=self._rank, **place)

    def measured_distance(self, distance: float) -> None:
        """Report the L2 distance of the center from a push's base when it was applied."""
        samples, version = self._link.samples, self._link.version
        self._reporter.point(metrics.BASE_DISTANCE, distance, rank=self._rank, step=self._w.t, samples=samples, version=version)
