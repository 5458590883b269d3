"""The first process of a worker's group on another machine than the lead's: it forks the others there, and serves the lead."""

from __future__ import annotations

from pathlib import Path

from gradstream.group.machines.connecting import connect_to_lead
from gradstream.group.machines.machine_problem import MachineProblem
from gradstream.input.data import Batches, DatasetTooSmall
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode, blaming
from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder
from gradstream.process.watchdogs.start import StartWatchdog
from gradstream.process.watchdogs.step import step_watchdog
from worker_node import setup
from worker_node.group.ends import group_ends_explained


def main(order: ProcessOrder, folder: Path) -> int:
    """Compute what the lead asks for until it ends. Returns the exit code, and leaves the reason in `folder`."""
    with exits.explained(folder) as ending, group_ends_explained(ending):
        try:
            with StartWatchdog(folder) as watchdog:
                problem = _build(order, folder, watchdog)
            _serve(order, folder, problem)
        except DatasetTooSmall as error:
            ending.set(ExitReason.DATASET_TOO_SMALL, str(error))
    return ending.code


def _build(order: ProcessOrder, folder: Path, watchdog: StartWatchdog) -> MachineProblem:
    """Build the model in the order of the worker, so that both draw the same random numbers."""
    spec = order.spec
    setup.prepare_for_peers(spec.roles.worker.group.peers)
    with watchdog.watch_phase(setup.import_phase(spec)):
        code = UserCode(spec)
    with watchdog.watch_phase(setup.DATASET):
        dataset = code.dataset("train")
    with watchdog.watch_phase(setup.MODEL):
        flat = setup.flat_model(code, order, folder)
        with blaming("model()"):
            rows = working_rows(flat.model, spec)
    with watchdog.watch_phase(setup.DATASET), blaming("dataset('train')", but=DatasetTooSmall):
        batches = Batches(dataset, spec, order.worker, code.batching)
        return MachineProblem(code, flat, batches, spec, rows, order.machine, setup.devices_of(order), order.gpu_share)


def _serve(order: ProcessOrder, folder: Path, problem: MachineProblem) -> None:
    timeout = order.spec.roles.worker.step_timeout
    try:
        problem.start_peers(order.spec, f"worker-{order.worker}", order.worker, folder)
        problem.draw_own_numbers(order.spec.seed, order.worker)
        lead = connect_to_lead(order)
        with step_watchdog(folder, timeout, lambda: problem.answered, waits=lambda: problem.waits_for_peers):
            problem.serve(lead)
    finally:
        problem.close()
