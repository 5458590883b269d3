"""The worker process: trains the user's model on its share of the data."""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from gradstream import metrics
from gradstream.center.entries import FINAL_CHECKPOINT, Payload, Push
from gradstream.input.data import Batches, DatasetTooSmall
from gradstream.input.overlap import find_overlap
from gradstream.input.prefetch import Prefetched
from gradstream.model.core_share import physical_cores
from gradstream.model.flat_model import ModelProblem
from gradstream.model.usercode import UserCode, blaming
from gradstream.process import exits
from gradstream.process.exits import ExitReason, UserError
from gradstream.process.order import ProcessOrder
from gradstream.process.store import Uploads, open_store
from gradstream.process.watchdog import StartWatchdog
from gradstream.train import loop
from gradstream.train.link import Link, LinkEvents
from gradstream.train.replica import LossNotFinite, Replica
from gradstream.wire.port import RedisPort
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.retransmissions import Retransmissions
from gradstream.worker import setup
from gradstream.worker.rate import Rate
from gradstream.worker.recording import environment_recorded, tensors_recorded

log = logging.getLogger(__name__)


def main(order: ProcessOrder, folder: Path) -> int:
    """Train until the data ends or the job is stopped. Returns the exit code, and leaves the reason in `folder`."""
    with exits.explained(folder) as ending:
        reporter = Reporter(order.plane, order.plane_id, order.full_label)
        try:
            with StartWatchdog(folder) as watchdog:
                done = _Worker(order, folder, reporter, watchdog).run()
            if not done:
                ending.set(ExitReason.STOPPED, "left because the job stops it")
        except DatasetTooSmall as error:
            ending.set(ExitReason.DATASET_TOO_SMALL, str(error))
        except LossNotFinite as error:
            ending.set(ExitReason.LOSS_NOT_FINITE, f"{error}; {error.REMEDY}")
        finally:
            reporter.close()
    return ending.code


class _Worker(LinkEvents):
    """The parts of a worker and how they tell of each other; `run` is its course."""

    def __init__(self, order: ProcessOrder, folder: Path, reporter: Reporter, watchdog: StartWatchdog) -> None:
        self._order, self._folder, self._reporter, self._watchdog = order, folder, reporter, watchdog
        self._set_up_user_code()
        self._store = open_store(order.store, order)
        self._uploads = Uploads(self._store, folder)
        self._replica = Replica(order.spec, self._problem, self._report_loss)
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count, rank=order.rank))
        self._port = setup.port(order, self._flat, retransmissions)
        self._link = Link(order.spec, self._port, self._replica, order.rank, order.incarnation, self)
        self._report_start()
        self._push_report = _PushReport(reporter, self._replica, self._link, self._port, self._problem)

    def _set_up_user_code(self) -> None:
        order, spec, watchdog = self._order, self._order.spec, self._watchdog
        with watchdog.watch_phase(setup.import_phase(spec)):
            self._code = UserCode(spec)
        with watchdog.watch_phase(setup.DATASET):
            self._dataset: Dataset[Any] = self._code.dataset("train")
        with watchdog.watch_phase(setup.MODEL):
            self._flat = setup.flat_model(self._code, order, self._folder)
        with watchdog.watch_phase(setup.DATASET), blaming("dataset('train')", but=DatasetTooSmall):
            batches = Prefetched(Batches(self._dataset, spec, order.rank, self._code.batching), spec)
            self._problem = ModelProblem(self._code, self._flat, batches, spec.at_once)

    def run(self) -> bool:
        """True: trained to the end. False: told to stop before."""
        self._join()
        begun = self._replica.t
        self._watchdog.watch_until(setup.FIRST_BATCH, lambda: self._replica.t != begun or self._replica.done)
        with tensors_recorded(self._order, self._flat, self._store, self._folder):
            with environment_recorded(self._order, self._uploads):
                loop.train(self._order.spec.strategy, self._replica, self._link)
            self._link.leave()
            self._uploads.add(f"checkpoints/{FINAL_CHECKPOINT}/worker-{self._order.rank}.pt", self._link.state())
            self._uploads.finish()
        return self._replica.done

    def _join(self) -> None:
        """Begin at the beginning, which rank 0 proposes, or where the checkpoint that this attempt resumes from was taken."""
        order = self._order
        resumed = self._store.resumed(f"worker-{order.rank}.pt", self._folder) if order.incarnation == 0 else None
        proposes = order.rank == 0 and order.resume is None
        if proposes:
            with self._watchdog.watch_phase(setup.DATASET):
                _look_for_overlap(self._code, self._dataset, self._reporter)
            self._reporter.point(metrics.TOTAL, self._problem.total_samples)
            if self._problem.epoch_samples:
                self._reporter.point(metrics.EPOCH, self._problem.epoch_samples)
        self._link.join(
            Payload(self._flat.theta.cpu(), self._replica.model.buffers()) if proposes else None,
            torch.load(resumed, weights_only=True) if resumed else None,
        )

    def save_state(self, checkpoint: int, state: dict[str, Any]) -> None:
        self._uploads.add(f"checkpoints/{checkpoint}/worker-{self._order.rank}.pt", state, needed=False)
        self._problem.on_checkpoint(checkpoint)

    def _report_start(self) -> None:
        order, port = self._order, self._port
        if order.shared and order.shared.servers and not port.shares:
            self._reporter.point(metrics.SHARED_MEMORY_SHORTFALL, (2 + order.spec.pipeline) * port.nbytes, rank=order.rank)
        self._reporter.point(metrics.SHARE, self._problem.total, rank=order.rank)
        self._reporter.point(metrics.CORES, physical_cores(), rank=order.rank)

    def _report_loss(self, t: int, loss: float) -> None:
        self._reporter.point(
            metrics.LOSS, loss, rank=self._order.rank, step=t, samples=self._replica.samples.seen, version=self._link.version
        )

    def pushed(self, push: Push) -> None:
        self._push_report.send(push)

    def measured_distance(self, distance: float) -> None:
        self._reporter.point(
            metrics.BASE_DISTANCE,
            distance,
            rank=self._order.rank,
            step=self._replica.t,
            samples=self._link.samples,
            version=self._link.version,
        )


_ON_CORE_EVERY = 1.0
"""Seconds between two reports of what changes slowly."""


def _look_for_overlap(code: UserCode, train: Dataset[Any], reporter: Reporter) -> None:
    """Costs up to half a second, and what loading the evaluation split takes; this process forgets it again."""
    try:
        with blaming("dataset('eval')"):
            overlap = find_overlap(train, code.dataset("eval"))
    except UserError as error:
        log.warning("the splits could not be compared: %s", exits.explain_user_error(error))  # the evaluator says more
        return
    if overlap:
        reporter.points({metrics.COMPARED_ROWS: overlap.compared, metrics.SHARED_ROWS: overlap.shared}, rank=0)


class _PushReport:
    """Where the time of a push went."""

    def __init__(self, reporter: Reporter, w: Replica, link: Link, port: RedisPort, problem: ModelProblem) -> None:
        self._reporter, self._w, self._link, self._port, self._problem = reporter, w, link, port, problem
        self._last = time.perf_counter()
        self._rate = Rate()
        self._told_on_core = -math.inf

    def send(self, push: Push) -> None:
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
        if self._link.codec_error:
            values[metrics.CODEC_ERROR] = self._link.codec_error
        on_core = self._problem.on_core.share if self._problem.on_core else None
        if on_core is not None and now >= self._told_on_core + _ON_CORE_EVERY:
            values[metrics.ON_CORE], self._told_on_core = on_core, now
        self._reporter.points(values, rank=push.rank, step=push.position, samples=self._link.samples, version=self._link.version)
        self._last, self._w.batches.compute_seconds, self._problem.data_seconds, self._link.wait_seconds = now, 0.0, 0.0, 0.0
