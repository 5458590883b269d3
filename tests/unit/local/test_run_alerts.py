"""The alerts of `gradstream train` are those that the platform's page shows for the same metrics."""

from __future__ import annotations

from datetime import UTC, datetime

from backend.progress.folding import fold
from backend.progress.summary import shown
from gradstream import metrics
from gradstream.gate import Gate
from gradstream.local.training.alerts import RunAlerts
from gradstream.metrics import Metric, Point
from gradstream.process.watchdogs.start import Hang

ASP = Gate(mode="asp", max_staleness=4)
HANG = Hang(phase="dataset()", line="w.py:3", seconds=31)
Batch = tuple[str, list[Point]]


def point(metric: Metric, rank: int, value: float, step: int = 0, time: float = 100.0) -> Point:
    return Point(metric.name, rank, step, 0, 0, time, value)


def pushes(rank: int, pace: float, seconds: float = 30.0) -> Batch:
    steps = range(int(seconds * pace) + 1)
    return f"worker-{rank}.0", [point(metrics.COMPUTE, rank, 1 / pace, step + 1, 100.0 + step / pace) for step in steps]


def ledger(**values: int) -> list[Point]:
    return [Point(f"ledger/{name}", 0, 0, 0, 0, 100.0, value) for name, value in values.items()]


def raised(*batches: Batch, gate: Gate = ASP) -> list[str]:
    alerts = RunAlerts(gate)
    alerts.take(batches, 1)
    return alerts.sentences


WRONG = (
    pushes(0, 7.0),
    pushes(1, 7.0),
    pushes(2, 1.0),
    ("server-0.0", ledger(pushed=100, dropped=60, dropped_stale=30, dropped_not_finite=30)),
    ("server-0.0", [point(metrics.STARVED, 3, 20)]),
    ("worker-0.0", [point(metrics.COMPARED_ROWS, 0, 1000), point(metrics.SHARED_ROWS, 0, 1000)]),
    ("worker-0.0", [point(metrics.SHARED_MEMORY_SHORTFALL, 0, 5e6)]),
    ("worker-1.0", [point(metrics.LOG_DROPPED, 1, 7)]),
    ("evaluator.0", [Point("eval/auc", -1, 0, 640, 10, 100.0, float("nan"))]),
)


def test_the_page_shows_the_same_but_for_what_only_it_offers() -> None:
    page = shown(fold({}, 1, WRONG, datetime(2026, 1, 1, tzinfo=UTC)), ASP).alerts
    [slow] = [alert for alert in page if "times slower" in alert]
    mine = raised(*WRONG)
    assert "Stop worker-2 on the Workers tab to leave out the rest of its share, run it on a faster machine, train" in slow
    remedies = (
        "Run it on a faster machine, train with fewer workers, or set data.deal to demand, so that the others train what it leaves."
    )
    told = slow.partition("Stop ")[0] + remedies
    assert sorted(mine) == sorted([told if alert == slow else alert for alert in page])
    assert len(mine) == 8


def test_who_waits_for_a_slow_worker_is_told_what_to_set() -> None:
    [alert] = raised(*WRONG[:3], gate=Gate(mode="bsp"))
    assert alert.endswith(
        "Use adag or dynsgd under asp with data.deal set to demand, so that the others train what it leaves. "
        "With gate.quorum alone the others end earlier; the job does not if this worker stays slow."
    )


def test_an_alert_is_told_once_and_listed_as_it_was_worded_last() -> None:
    alerts = RunAlerts(ASP)
    alerts.take([("server-0.0", ledger(pushed=100, dropped_stale=30))], 1)
    [first] = alerts.take_new()
    alerts.take([("server-0.0", ledger(pushed=100, dropped_stale=60))], 1)
    assert alerts.take_new() == []
    assert first.startswith("30 % of the pushes")
    assert [alert[:4] for alert in alerts.sentences] == ["60 %"]


def test_a_hang_that_ended_stays_in_the_list_and_a_place_is_told_once() -> None:
    alerts = RunAlerts(ASP)
    alerts.take_hangs({"worker-0": HANG})
    alerts.take_hangs({"worker-0": HANG, "worker-1": HANG})
    alerts.take_hangs({"worker-1": HANG})
    alerts.take_hangs({})
    [told] = alerts.take_new()
    [listed] = alerts.sentences
    assert told.startswith("worker-0 has been in dataset() for more than 31 s, at w.py:3")
    assert listed.startswith("worker-0 and worker-1 have been in dataset()")


def test_a_new_attempt_keeps_what_was_raised_and_begins_its_figures_anew() -> None:
    alerts = RunAlerts(ASP)
    alerts.take(WRONG[:3], 1)
    alerts.take([pushes(0, 7.0), pushes(1, 7.0), pushes(2, 7.0)], 2)
    assert len(alerts.sentences) == 1
    assert len(alerts.take_new()) == 1


def leaderless(partition: int, count: int) -> list[Batch]:
    return [("worker-0.0", [point(metrics.LEADERLESS, 0, count, partition)])]


def test_a_worker_is_awaited_until_it_goes_on() -> None:
    alerts = RunAlerts(Gate(mode="bsp"))
    for seconds in (25.0, 30.0):
        alerts.take([("worker-0.0", [point(metrics.AWAITED, 1, seconds)])], 1)
    [told] = alerts.take_new()
    assert told.startswith("All others wait for worker-1, for more than 25 s.")
    alerts.take([("worker-0.0", [point(metrics.AWAITED, 1, 0.0)])], 1)
    assert alerts.take_resolved() == ["worker-1 goes on, and the others with it."]


def test_an_alert_is_over_once_and_may_be_raised_anew() -> None:
    alerts = RunAlerts(ASP)
    alerts.take(leaderless(3, 1), 1)
    alerts.take([], 1)
    assert (len(alerts.take_new()), alerts.take_resolved()) == (1, [])
    alerts.take(leaderless(2, 2), 1)
    assert [alert[:11] for alert in alerts.take_new()] == ["Partition 2"]
    alerts.take(leaderless(0, 0), 1)
    alerts.take([], 1)
    assert (alerts.take_new(), alerts.take_resolved()) == ([], ["Every partition of the followed topic has a leader again."])
    alerts.take(leaderless(3, 1), 1)
    assert [alert[:11] for alert in alerts.take_new()] == ["Partition 3"]
    assert len(alerts.sentences) == 2
    alerts.take([], 2)
    assert alerts.take_resolved() == [], "a new attempt begins anew, unjudged"


def test_a_disk_that_is_full_and_has_space_again() -> None:
    alerts = RunAlerts(ASP)
    full, free = ([("server-1.0", [point(metrics.ROWS_BEYOND, 1, rows)])] for rows in (1200, 0))
    alerts.take(full, 1)
    assert alerts.sentences == list(shown(fold({}, 1, full, datetime(2026, 1, 1, tzinfo=UTC)), ASP).alerts)
    alerts.take(free, 1)
    assert alerts.take_resolved() == ["The disk of server-1 takes rows again, so its tables are within memory.rows."]


def test_a_hang_is_over_where_the_last_process_has_gone_on() -> None:
    alerts = RunAlerts(ASP)
    alerts.take_hangs({"worker-0": HANG, "worker-1": HANG})
    alerts.take_hangs({"worker-1": HANG})
    assert alerts.take_resolved() == []
    alerts.take_hangs({})
    assert alerts.take_resolved() == ["worker-0, worker-1: dataset() has ended; the start continues."]


def test_an_evaluation_that_is_not_finite_again_is_still_dated_by_the_first_one() -> None:
    scores = [
        ("evaluator.0", [Point("eval/auc", -1, step, samples, 10, 100.0, float("nan"))]) for step, samples in ((0, 640), (1, 1280))
    ]
    page = shown(fold({}, 1, scores, datetime(2026, 1, 1, tzinfo=UTC)), ASP).alerts
    assert raised(*scores) == list(page)
    assert "640" in page[0]
