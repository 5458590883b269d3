"""`gradstream show`: what happened last, however often it did."""

from __future__ import annotations

from datetime import UTC, datetime

from gradstream.cli.show import _ending, gathered
from gradstream.client import Event, Process


def event(kind: str, message: str, seq: int) -> Event:
    return Event(seq=seq, time=datetime.now(UTC), kind=kind, actor="controller", message=message, data={})


def test_thousands_of_cuts_hide_nothing_that_happened_before() -> None:
    told = [event("status", "running: all 4 processes run", 0)]
    told += [event("cut", f"Cut {number} of attempt 1 is committed.", number) for number in range(1, 3001)]
    told += [event("process", "worker-1 exited, killed: killed by signal 9", 3001)]
    told += [event("cut", f"Cut {number} of attempt 1 is committed.", number) for number in range(3002, 3004)]
    assert [(one.kind, one.seq, count) for one, count in gathered(told)] == [
        ("status", 0, 1), ("cut", 3000, 3000), ("process", 3001, 1), ("cut", 3003, 2),
    ]  # fmt: skip


def test_a_process_refers_to_the_reason_of_its_job() -> None:
    process = Process.model_construct(reason="user_error", message="failed in loss(): ValueError: no (w.py:8)")
    assert _ending(process, f"worker-0: {process.message}") == "user_error", "the first table tells why"
    assert _ending(process, None) == _ending(process, "All processes run.") == f"user_error: {process.message}"
