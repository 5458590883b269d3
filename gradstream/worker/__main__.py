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
from gradstream.center.entries import FINAL_CUT, Payload, Push
from gradstream.process import exits
from gradstream.process.exits import Ending, ExitReason, UserError
from gradstream.process.order import ProcessOrder
from gradstream.process.store import Uploads, open_store
from gradstream.process.watchdog import StartWatchdog
from gradstream.wire.port import RedisPort
from gradstream.wire.reporter import Reporter
from gradstream.worker import loop, setup
from gradstream.worker.data import Batches, DatasetTooSmall
from gradstream.worker.link import Link
from gradstream.worker.model import ModelProblem
from gradstream.worker.oncore import physical_cores
from gradstream.worker.overlap import find_overlap
from gradstream.worker.prefetch import Prefetched
from gradstream.worker.rate import Rate
from gradstream.worker.recording import environment_recorded, tensors_recorded
from gradstream.worker.replica import LossNotFinite, Replica
from gradstream.worker.usercode import UserCode, blaming

log = logging.getLogger(__name__)


def main(order: ProcessOrder, folder: Path) -> int:
    """Train until the data ends or the job is stopped. Returns the exit code, and leaves the reason in `folder`."""
    with exits.explained(folder) as ending:
        reporter = Reporter(order.plane, order.plane_id, order.life)
        try:
            with StartWatchdog(folder) as watchdog:
                _train(order, folder, reporter, ending, watchdog)
        except DatasetTooSmall as error:
            ending.set(ExitReason.DATASET_TOO_SMALL, str(error))
        except LossNotFinite as error:
            ending.set(ExitReason.LOSS_NOT_FINITE, f"{error}; {error.REMEDY}")
        finally:
            reporter.close()
    return ending.code


def _train(order: ProcessOrder, folder: Path, reporter: Reporter, ending: Ending, watchdog: StartWatchdog) -> None:
    spec, rank = order.spec, order.rank
    with watchdog.watch_phase(setup.import_phase(spec)):
        code = UserCode(spec)
    with watchdog.watch_phase(setup.DATASET):
        dataset = code.dataset("train")
    with watchdog.watch_phase(setup.MODEL):
        flat = setup.flat_model(code, order, folder)
    with watchdog.watch_phase(setup.DATASET), blaming("dataset('train')", but=DatasetTooSmall):
        problem = ModelProblem(code, flat, Prefetched(Batches(dataset, spec, rank, code.batching), spec), spec.at_once)
    store = open_store(order.store, order)
    uploads = Uploads(store, folder)

    def on_loss(t: int, loss: float) -> None:
        reporter.point(metrics.LOSS, loss, rank=rank, step=t, samples=w.seen, version=link.version)

    def save(cut: int, state: dict[str, Any]) -> None:
        uploads.add(f"cuts/{cut}/worker-{rank}.pt", state, needed=False)
        problem.on_checkpoint(cut)

    w = Replica(spec, problem, on_loss)
    port = setup.port(order, flat)
    if order.shared and order.shared.servers and not port.shares:
        reporter.point(metrics.NO_ROOM, (2 + spec.pipeline) * port.nbytes, rank=rank)
    port.on_damage = lambda count: reporter.point(metrics.ASKED_AGAIN, count, rank=rank)
    link = Link(
        spec, port, w, rank, order.incarnation,
        save=save,
    )  # fmt: skip
    reporter.point(metrics.SHARE, problem.total, rank=rank)
    reporter.point(metrics.CORES, physical_cores(), rank=rank)
    link.on_push = _PushReport(reporter, w, link, port, problem)
    link.on_distance = lambda distance: reporter.point(
        metrics.BASE_DISTANCE, distance, rank=rank, step=w.t, samples=link.samples, version=link.version
    )
    resumed = store.resumed(f"worker-{rank}.pt", folder) if order.incarnation == 0 else None
    proposes = rank == 0 and order.resume is None
    if proposes:
        with watchdog.watch_phase(setup.DATASET):
            _look_for_overlap(code, dataset, reporter)
        reporter.point(metrics.TOTAL, problem.total_samples)
        if problem.epoch_samples:
            reporter.point(metrics.EPOCH, problem.epoch_samples)
    link.join(
        Payload(flat.theta.cpu(), w.buffers()) if proposes else None,
        torch.load(resumed, weights_only=True) if resumed else None,
    )
    begun = w.t
    watchdog.watch_until(setup.FIRST_BATCH, lambda: w.t != begun or w.done)
    with tensors_recorded(order, flat, store, folder):
        with environment_recorded(order, uploads):
            loop.train(spec.strategy, w, link)
        link.leave()
        uploads.add(f"cuts/{FINAL_CUT}/worker-{rank}.pt", link.state())
        uploads.finish()
    if not w.done:
        ending.set(ExitReason.STOPPED, "left because it was told to stop")


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

    def __call__(self, push: Push) -> None:
        now = time.perf_counter()
        values = {
            metrics.THROUGHPUT: self._rate.after(push.examples, now - self._last),
            metrics.COMPUTE: self._w.compute_seconds - self._problem.data_seconds,
            metrics.DATA: self._problem.data_seconds,
            metrics.SEND: self._link.send_seconds,
            metrics.WAIT: self._link.wait_seconds,
            metrics.SENT: self._port.bytes_sent,
            metrics.RAW: self._port.bytes_raw,
            metrics.RECEIVED: self._port.bytes_received,
        }
        if self._link.codec_error:
            values[metrics.CODEC_ERROR] = self._link.codec_error
        on_core = self._problem.on_core.share if self._problem.on_core else None
        if on_core is not None and now >= self._told_on_core + _ON_CORE_EVERY:
            values[metrics.ON_CORE], self._told_on_core = on_core, now
        self._reporter.points(values, rank=push.rank, step=push.position, samples=self._link.samples, version=self._link.version)
        self._port.bytes_sent = self._port.bytes_raw = self._port.bytes_received = 0
        self._last, self._w.compute_seconds, self._problem.data_seconds, self._link.wait_seconds = now, 0.0, 0.0, 0.0
