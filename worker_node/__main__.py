"""The worker process: trains the user's model on its share of the data."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from gradstream.input.data import DatasetTooSmall
from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder
from gradstream.process.watchdogs.start import StartWatchdog
from gradstream.training.replica import LossNotFinite
from gradstream.wire.telemetry.reporter import Reporter
from worker_node.group.ends import group_ends_explained
from worker_node.settings import WorkerSettings
from worker_node.worker import Worker


def main(order: ProcessOrder, folder: Path) -> int:
    """Train until the data ends or the job is stopped. Returns the exit code, and leaves the reason in `folder`."""
    with exits.explained(folder) as ending, group_ends_explained(ending):
        reporter = Reporter(order.plane, order.plane_id, order.full_label)
        try:
            with StartWatchdog(folder) as watchdog, ExitStack() as at_end:
                done = Worker(order, folder, reporter, WorkerSettings(), watchdog, at_end).run()
            if not done:
                ending.set(ExitReason.STOPPED, "left because the job stops it")
        except DatasetTooSmall as error:
            ending.set(ExitReason.DATASET_TOO_SMALL, str(error))
        except LossNotFinite as error:
            ending.set(ExitReason.LOSS_NOT_FINITE, f"{error}; {error.REMEDY}")
        finally:
            reporter.close()
    return ending.code
