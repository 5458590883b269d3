"""The worker: user code, replica, link and port, and how they tell of each other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.utils.data import Dataset

from gradstream import metrics
from gradstream.center.entries import FINAL_CHECKPOINT, Payload, Push, Response
from gradstream.group.machines.connecting import connect_machines
from gradstream.group.problem import GroupProblem
from gradstream.hogwild.replica import make_replica
from gradstream.input.data import Batches, DatasetTooSmall
from gradstream.input.overlap import Overlap, find_overlap
from gradstream.input.prefetch import Prefetched
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode, blaming
from gradstream.process import exits
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.checkpoint_names import worker_part
from gradstream.process.saving.part import CheckpointPartFiles, resumed_state
from gradstream.process.saving.uploads import Uploads, part_timeout
from gradstream.process.store import open_store
from gradstream.process.watchdogs.start import StartWatchdog
from gradstream.process.watchdogs.step import step_watchdog
from gradstream.training import loop
from gradstream.training.link import Link
from gradstream.training.link_events import LinkEvents
from gradstream.updates.sampler import UpdateSampler
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.retransmissions import Retransmissions
from worker_node import setup
from worker_node.recording import environment_recorded, record_parameters, tensors_recorded
from worker_node.report import WorkerReport
from worker_node.senders.media import MediaSender
from worker_node.senders.updates import UpdatesSender
from worker_node.settings import WorkerSettings

log = logging.getLogger(__name__)


class Worker(LinkEvents):
    """The parts of a worker and how they tell of each other; `run` is its course."""

    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        reporter: Reporter,
        settings: WorkerSettings,
        watchdog: StartWatchdog,
        at_end: ExitStack,
    ) -> None:
        """`at_end`: ends what this worker has started, also if it cannot begin."""
        self._order, self._folder, self._settings, self._watchdog = order, folder, settings, watchdog
        self._waited = False
        """It has waited for data: its first mini-batch was not there yet."""
        self._set_up_user_code(at_end)
        self._store = open_store(order.store, order)
        self._uploads = Uploads(self._store)
        self._replica = make_replica(order.spec, self._problem, self._report_loss)
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count, rank=order.rank))
        given = order, self._flat, folder, settings, lambda rank, seconds: reporter.point(metrics.AWAITED, seconds, rank=rank)
        self._serverless = setup.serverless_port(*given) if order.spec.roles.serverless else None
        port = self._serverless or setup.port(order, self._flat, retransmissions, settings)
        self._link = Link(order.spec, port, self._replica, order.rank, order.incarnation, self)
        media = MediaSender(self._store, self._problem.media, reporter, order.rank)
        self._report = WorkerReport(reporter, order, self._replica, self._link, port, self._problem, settings, media)
        self._updates = UpdatesSender(self._store)
        self._sampler = self._make_sampler()
        self._base = 0
        """The base of the last push."""

    def _set_up_user_code(self, at_end: ExitStack) -> None:
        order, spec, watchdog = self._order, self._order.spec, self._watchdog
        setup.prepare_for_peers(spec.roles.worker.group.peers)
        with watchdog.watch_phase(setup.import_phase(spec)):
            self._code = UserCode(spec)
        with watchdog.watch_phase(setup.DATASET):
            self._dataset: Dataset[Any] = self._code.dataset("train")
        with watchdog.watch_phase(setup.MODEL):
            self._flats = setup.flat_models(self._code, order, self._folder)
            self._flat = self._flats[0]
            with blaming("model()"):
                self._rows = working_rows(self._flat.model, spec)
            if self._rows and spec.roles.serverless:
                raise UserError("the model has embedding tables, which need servers: set roles.server.count: 1")
        with watchdog.watch_phase(setup.DATASET), blaming("dataset('train')", but=DatasetTooSmall):
            batches = Prefetched(Batches(self._dataset, spec, order.rank, self._code.batching), spec)
            self._problem = setup.problem(self._code, self._flats, batches, order, self._rows)
        if isinstance(self._problem, GroupProblem):
            at_end.callback(self._problem.close)
            self._problem.start_peers(spec, order.label, order.rank, self._folder)
            if spec.roles.worker.group.machines > 1:
                self._problem.join_machines(connect_machines(order))

    def _make_sampler(self) -> UpdateSampler | None:
        """None: the job does not sample updates."""
        order, sampling = self._order, self._order.spec.update_histograms
        seed = f"{order.spec.seed}.{order.rank}.{order.attempt}.{order.incarnation}"
        return UpdateSampler(sampling.every, seed, self._replica, self._updates.add) if sampling else None

    def run(self) -> bool:
        """Return whether it has trained to the end; else the job stops it before."""
        self._join()
        begun = self._replica.t
        self._watchdog.watch_until(setup.FIRST_BATCH, lambda: self._replica.t != begun or self._replica.done or self._waited)
        timeout = self._order.spec.roles.worker.step_timeout
        watched = step_watchdog(self._folder, timeout, lambda: self._replica.t, waits=self._waits_for_peers)
        with tensors_recorded(self._order, self._flat, self._store):
            with environment_recorded(self._order, self._uploads, self._settings), watched:
                loop.train(self._order.spec.strategy, self._replica, self._link)
            self._problem.hooks.end()
            self._report.logged(self._replica.t)
            self._link.leave()
            self._record_parameters()
            self._add_state(FINAL_CHECKPOINT, self._link.state())
            if self._serverless:
                self._serverless.serve()
            self._uploads.finish()
            self._updates.close()
        return self._replica.done

    def _waits_for_peers(self) -> bool:
        return isinstance(self._problem, GroupProblem) and self._problem.waits_for_peers

    def _join(self) -> None:
        """Begin at the beginning, which rank 0 proposes, or where the checkpoint that this attempt resumes from was taken."""
        order = self._order
        part = worker_part(order.rank)
        resumed = resumed_state(self._store, part, self._folder) if order.incarnation == 0 else None
        self._base = resumed["base"] if resumed and resumed["replica"] else 0
        proposes = order.rank == 0 and order.resume is None
        if proposes:
            self._record_parameters()
            with self._watchdog.watch_phase(setup.DATASET):
                overlap = _look_for_overlap(self._code, self._dataset)
            self._report.data(overlap)
        self._link.join(
            Payload(self._flat.theta.cpu(), self._replica.model.buffers()) if proposes else None,
            resumed,
        )

    def _report_loss(self, t: int, loss: float) -> None:
        self._report.trained(t, loss)
        if t + 1 == self._problem.total:  # the last push may bring another center at any time, so its step is not waited for
            self._problem.hooks.end_epoch_before(t + 1)

    def save_state(self, checkpoint: int, state: Callable[[], dict[str, Any]]) -> None:
        self._record_parameters()
        if self._uploads.wait_for_part(part_timeout(self._order.store)):
            self._add_state(checkpoint, state())
        else:
            log.warning("checkpoint %s is left out, as an earlier one is still being stored", checkpoint)
        self._problem.hooks.save(checkpoint)

    def _record_parameters(self) -> None:
        if self._order.rank == 0:
            place = {"base": self._base, "step": self._replica.t, "samples": self._link.samples}
            record_parameters(self._flat, self._uploads, **place)

    def _add_state(self, checkpoint: int, state: dict[str, Any]) -> None:
        part = CheckpointPartFiles(checkpoint, worker_part(self._order.rank), state)
        self._uploads.add_all(part, needed=checkpoint == FINAL_CHECKPOINT)

    def posting(self, push: Push, x: Tensor) -> None:
        self._base = push.base
        if self._sampler:
            self._sampler.posting(push, x)

    def answered(self, response: Response) -> None:
        if self._sampler:
            self._sampler.answered(response)

    def pushed(self, push: Push) -> None:
        self._report.pushed(push)

    def waits_for_data(self) -> None:
        self._waited = True
        self._report.lag()

    def measured_distance(self, distance: float) -> None:
        self._report.measured_distance(distance)


def _look_for_overlap(code: UserCode, train: Dataset[Any]) -> Overlap | None:
    """Costs up to half a second, and what loading the evaluation split takes; this process forgets it again."""
    try:
        with blaming("dataset('eval')"):
            return find_overlap(train, code.dataset("eval"))
    except UserError as error:
        log.warning("the splits could not be compared: %s", exits.explain_user_error(error))  # the evaluator says more
        return None
