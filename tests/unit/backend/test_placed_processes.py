"""What the scheduler reads of the processes of an attempt."""

from __future__ import annotations

import random
import time
from uuid import uuid4

from backend.jobs.models import ProcessRow
from backend.scheduler.situation import placed_processes
from gradstream.api.statuses import ProcessStatus
from gradstream.process.exits import ExitReason


def row(rank: int, incarnation: int, reason: ExitReason | None, *, replaced: bool = True) -> ProcessRow:
    status = ProcessStatus.EXITED if reason else ProcessStatus.RUNNING
    return ProcessRow(
        id=uuid4(), role="worker", rank=rank, incarnation=incarnation, status=status, reason=reason, replaced=replaced
    )


def test_each_process_counts_its_own_incarnations_only() -> None:
    lost, failed = ExitReason.NODE_LOST, ExitReason.CANNOT_START
    rows = [
        row(0, 0, lost),
        row(0, 1, failed),
        row(0, 2, failed),
        row(0, 3, None, replaced=False),
        row(1, 0, failed),
        row(1, 1, lost),
        row(1, 2, lost),
        row(1, 3, failed, replaced=False),
        row(11, 0, lost, replaced=False),
    ]
    random.Random(0).shuffle(rows)
    found = {process.label: (process.failed_starts, process.uncharged) for process in placed_processes(rows)}
    assert found == {"worker-0": (0, 3), "worker-1": (1, 4), "worker-11": (0, 1)}


def test_thousands_of_processes_are_read_at_once() -> None:
    rows = [row(rank, 0, None, replaced=False) for rank in range(5000)]
    began = time.process_time()
    assert len(placed_processes(rows)) == 5000
    assert time.process_time() - began < 5, "comparing each with each would take a minute"
