"""The evaluator process: scores the center on a schedule, beside the training; ends the job when its target is reached;
and makes the model that comes out, when all workers have left."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from gradstream import metrics
from gradstream.center.entries import Response
from gradstream.center.tables.payload import FoundRows, RowKeys, of_kind
from gradstream.evaluation.best import BestModel
from gradstream.evaluation.header import describe_model
from gradstream.evaluation.judge import Judge, StopReason
from gradstream.evaluation.processes import ScoringPeers
from gradstream.evaluation.scoring import Scorer
from gradstream.input.data import never_empty
from gradstream.model.flat_model import FlatModel
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode, blaming
from gradstream.process import exits
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.model_parts import files_of_model
from gradstream.process.saving.uploads import Uploads
from gradstream.process.store import MODEL, RESULT, open_store
from gradstream.process.watchdogs.start import StartWatchdog
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.retransmissions import Retransmissions
from worker_node import setup
from worker_node.evaluated_rows import find_keys
from worker_node.evaluator_link import EvaluatorLink
from worker_node.group.ends import group_ends_explained
from worker_node.logged_report import LoggedReport
from worker_node.senders.media import MediaSender
from worker_node.settings import WorkerSettings

log = logging.getLogger(__name__)


def main(order: ProcessOrder, folder: Path) -> int:
    """Evaluate until all workers have left. Returns the exit code, and leaves the reason in `folder`."""
    with exits.explained(folder) as ending, group_ends_explained(ending):
        reporter = Reporter(order.plane, order.plane_id, order.full_label)
        try:
            Evaluator(order, folder, reporter, WorkerSettings()).run()
        finally:
            reporter.close()
    return ending.code


class Evaluator:
    def __init__(self, order: ProcessOrder, folder: Path, reporter: Reporter, settings: WorkerSettings) -> None:
        self._order, self._reporter = order, reporter
        setup.prepare_for_peers(order.spec.evaluate.processes)
        self._set_up_user_code(order, folder)
        self._scorer = Scorer(self._code, self._flat.model, self._dataset, order.spec.evaluate.batch_size, self._flat.device)
        self._peers = self._fork_peers(order)
        self._logged = LoggedReport(reporter, self._scorer.logged, order.rank)
        self._media = MediaSender(open_store(order.store, order), self._scorer.media, reporter, order.rank)
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count))
        port = setup.port(order, self._flat, retransmissions, settings)
        self._link = EvaluatorLink(port, order.rank, order.incarnation)
        self._lives_in_center = not self._peers
        """The model is where a center has arrived."""
        self._version, self._samples = -1, 0
        """Version and samples of the model that was scored last, which is the one in `_flat`."""
        self._values: dict[str, float] = {}
        self._best = BestModel(open_store(order.store, order), folder, order) if order.spec.best else None
        self._judge = Judge(order.spec, self._best.load() if self._best else None)
        self._stop: StopReason | None = None

    def _set_up_user_code(self, order: ProcessOrder, folder: Path) -> None:
        with StartWatchdog(folder) as watchdog:
            with watchdog.watch_phase(setup.import_phase(order.spec)):
                self._code = UserCode(order.spec)
            with watchdog.watch_phase(setup.DATASET):
                self._dataset: Dataset[Any] = self._code.dataset("eval")
                with blaming("dataset('eval')"):
                    never_empty(self._dataset)
            with watchdog.watch_phase(setup.MODEL):
                self._flat: FlatModel = setup.flat_model(self._code, order, folder)
                with blaming("model()"):
                    self._rows = working_rows(self._flat.model, order.spec)

    def _fork_peers(self, order: ProcessOrder) -> ScoringPeers | None:
        if order.spec.evaluate.processes == 1:
            return None
        if self._rows:
            raise UserError("evaluate.processes: the model has embedding tables, whose rows come to one process; set it to 1")
        self._scorer.others = peers = ScoringPeers(self._code, self._flat, self._scorer.split, order.spec)
        return peers

    def run(self) -> None:
        try:
            self._run()
        finally:
            if self._peers:
                self._peers.close()

    def _run(self) -> None:
        keys = self._find_keys()
        self._link.join()
        due = time.monotonic()
        while True:
            response = self._link.receive_within(max(0.0, due - time.monotonic()))
            if response is None:  # it is time
                self._link.pull(keys)
                keys, due = None, float("inf")  # the response may take long: the job has not started yet
            else:
                self._evaluate(response)
                due = time.monotonic() + (self._order.spec.evaluate.cadence.seconds or 0.0)  # by samples, servers know when
                if response.outcome == "over":
                    break
        self._finish()
        self._link.leave()

    def _find_keys(self) -> Mapping[str, RowKeys] | None:
        """Return the keys of the split's embedding rows; None: the model has no tables."""
        if self._rows is None:
            return None
        keys = find_keys(self._rows, self._scorer.score)
        self._rows.held.look_up = self._link.look_up
        return keys

    def _evaluate(self, response: Response) -> None:
        assert response.payload is not None, "an evaluator's responses bring the center"
        if response.version == self._version or (self._stop and not self._rows):
            return  # a stop is asked for: what the workers push before they hear of it may be worse, and is not what was asked for
        self._version, self._samples = response.version, response.samples
        if self._lives_in_center:
            self._flat.move(response.payload.x)
        else:
            self._flat.theta.copy_(response.payload.x)
        if response.payload.buffers:
            self._flat.load_buffers(response.payload.buffers)
        self._flat.refresh()
        if self._peers:
            self._peers.begin(response.payload.buffers)
        if self._rows:
            self._rows.held.hold(of_kind(FoundRows, response.payload.rows))
        self._values = self._scorer.score()
        place = {"step": response.version, "samples": response.samples, "version": response.version}
        for key, value in self._values.items():
            self._reporter.point(f"eval/{key}", value, **place)
        self._scorer.end(self._values)
        self._logged.send(**place)
        self._media.hand_over(**place)
        judgement = self._judge.judge(self._values, samples=response.samples, version=response.version)
        self._reporter.flush()  # with the next request the servers forget this center: what it has scored must not be lost
        if self._best and self._judge.state.best:
            if judgement.is_best:
                self._best.keep(self._judge.state.best, self._flat.tensors())
            self._best.note(self._judge.state)
        if judgement.stop:
            self._stop = judgement.stop
            self._flat.move(self._flat.theta.clone())  # centers that still arrive are not scored
            self._link.stop_workers(judgement.stop)

    def _finish(self) -> None:
        """Store the model that was scored last, and what it scored."""
        uploads = Uploads(open_store(self._order.store, self._order))
        for name, content in files_of_model(MODEL, self._flat.own_tensors(), describe_model(self._order)):  # it changes no more
            uploads.add(name, content)
        scores = {key: value if math.isfinite(value) else None for key, value in self._values.items()}  # JSON has no NaN
        result = {"eval": scores, "version": self._version, "samples": self._samples}
        best = self._judge.state.best
        result |= {"target": self._stop == "target", "stopped_by": self._stop, "best": best and best.model_dump()}
        if self._best:
            self._best.finish()
        uploads.add(RESULT, TextContent(json.dumps(result)))
        self._media.close()
        uploads.finish()
