"""Reports of logged values: their names and place, and their bounded rate."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gradstream.user_logging.names import MAX_NAMES
from gradstream.user_logging.scalars import LoggedScalars
from gradstream.wire.telemetry.reporter import Reporter
from worker_node.logged_report import MAX_RATE, LoggedReport


class Records:
    """The part of a `Reporter` that a report calls."""

    def __init__(self) -> None:
        self.sent: list[tuple[dict[str, float], dict[str, int]]] = []

    def points(self, values: dict[str, float], **place: int) -> None:
        self.sent.append((values, place))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def made(rank: int = 2) -> tuple[LoggedReport, LoggedScalars, Records, Clock]:
    records, logged, clock = Records(), LoggedScalars(), Clock()
    return LoggedReport(cast(Reporter, records), logged, rank, clock), logged, records, clock


def send(report: LoggedReport, **place: Any) -> None:
    report.send(**{"step": 7, "samples": 80, "version": 9} | place)


@pytest.mark.parametrize(("rank", "name"), [(2, "user/x"), (-1, "user/eval/x")])
def test_a_report_has_its_worker_and_place(rank: int, name: str) -> None:
    report, logged, records, _ = made(rank)
    logged.add("x", 1.5)
    send(report)
    assert records.sent == [({name: 1.5}, {"rank": rank, "step": 7, "samples": 80, "version": 9})]


def test_nothing_is_reported_where_nothing_was_logged() -> None:
    report, _, records, _ = made()
    send(report)
    assert not records.sent


def test_no_more_values_a_second_than_the_rate_allows_and_none_is_lost() -> None:
    """100 names in each of 10,000 steps of 1 ms."""
    report, logged, records, clock = made()
    for step in range(10_000):
        for name in range(100):
            logged.add(f"x{name}", float(step))
        clock.now += 0.001
        if report.is_due():
            send(report)
    assert 0.9 * 10 * MAX_RATE <= sum(len(values) for values, _ in records.sent) <= 10 * MAX_RATE + 100
    send(report)
    means, steps, before = [values["user/x0"] for values, _ in records.sent], [], 0
    for mean in means:  # the mean of `before, ..., end - 1` says where it ends
        steps.append(end := round(2 * mean - before + 1))
        before = end
    assert steps[-1] == 10_000


def test_dropped_values_are_counted_in_a_report_of_their_own_name() -> None:
    report, logged, records, _ = made()
    for name in range(MAX_NAMES + 1):
        logged.add(f"x{name}", 0.0)
    send(report)
    assert records.sent[0][0]["worker/log_dropped"] == 1
    send(report)
    assert len(records.sent) == 1
