"""What is wrong with a job's training, from the figures of its processes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from backend.progress.alert_rules import new_alerts, resolved_alerts
from backend.progress.folding import fold
from backend.progress.summary import shown
from gradstream import metrics
from gradstream.gate import Gate
from gradstream.local.training.alerts import RunAlerts
from gradstream.metrics import DEALT, Metric, Point
from gradstream.progress import alerts

AT = datetime(2026, 1, 1, tzinfo=UTC)
ASP, BSP = Gate(mode="asp"), Gate(mode="bsp")


def point(metric: Metric, rank: int, value: float, step: int = 0, time: float = 100.0) -> Point:
    return Point(metric.name, rank, step, 0, 0, time, value)


def pushes(paces: dict[int, float], seconds: float, compute: dict[int, float] | None = None) -> list[tuple[str, list[Point]]]:
    """Of workers with so many mini-batches a second."""
    return [
        (
            f"worker-{rank}.0",
            [
                point(metrics.COMPUTE, rank, (compute or {}).get(rank, 1 / pace), number + 1, 100.0 + number / pace)
                for number in range(int(seconds * pace) + 1)
            ],
        )
        for rank, pace in paces.items()
    ]


def folded(*batches: tuple[str, list[Point]], state: dict[str, Any] | None = None, attempt: int = 1) -> dict[str, Any]:
    return fold(state or {}, attempt, batches, AT)


def test_a_slow_worker_is_told_of_with_a_remedy() -> None:
    state = folded(*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0))
    [alert] = shown(state, ASP).alerts
    assert alert.startswith("worker-2 is 7 times slower than the other workers.")
    assert "a fixed share of the data" in alert
    assert "Stop worker-2 on the Workers tab" in alert
    [told] = new_alerts({}, state, lambda: ASP)
    assert "Computing makes most of the difference." in alert
    assert (told.sentence, told.data["rank"], told.data["part"]) == (alert, 2, "compute")
    assert not list(new_alerts(state, folded(state=state), lambda: ASP)), "once"


def test_once_the_job_has_ended_the_alert_is_in_the_past_and_there_is_no_worker_to_stop() -> None:
    state = folded(*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0))
    [alert] = shown(state, ASP, ended=True).alerts
    assert alert == (
        "worker-2 was 7 times slower than the other workers. Computing made most of the difference. Each worker had a fixed share "
        "of the data to train, and such a job takes as long as its slowest worker. In the next run, run it on a faster machine, "
        "train with fewer workers, or set data.deal to demand, so that the others train what it leaves."
    )
    [in_rounds] = shown(state, BSP, ended=True).alerts
    assert "They waited for it in each round. In the next run, use adag or dynsgd under asp" in in_rounds
    left = [point(metrics.SHARE, rank, 200) for rank in range(3)] + [point(metrics.ACTIVE, rank, 0.0) for rank in (0, 1)]
    [stopped] = shown(folded(("server-0.0", left), state=state), ASP, ended=True).alerts
    assert "They had finished, and the job waited for worker-2 alone." in stopped


def test_a_worker_that_has_ended_is_not_to_be_stopped() -> None:
    left = [point(metrics.SHARE, rank, 200) for rank in range(3)] + [point(metrics.ACTIVE, 2, 0.0)]
    [alert] = shown(folded(*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), ("server-0.0", left)), ASP).alerts
    assert "Run it on a faster machine" in alert
    assert "Workers tab" not in alert


def test_a_slow_worker_of_a_stream_delays_passes_and_no_end() -> None:
    """Data that grows has no end, and no share of it is fixed."""
    behind = ("worker-2.0", [point(metrics.BEHIND, 2, 400)])
    state = folded(*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), behind)
    [alert] = shown(state, ASP).alerts
    assert "share" not in alert
    assert "its own part of the data that comes, so passes close when the slowest one has trained its part." in alert
    assert "Stop worker-2 on the Workers tab to leave out its part of all data to come" in alert
    [told] = new_alerts({}, state, lambda: ASP)
    assert told.sentence == alert
    run = RunAlerts(ASP)
    run.take([*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), behind], 1)
    assert run.sentences == [alert.partition("Stop ")[0] + "Run it on a faster machine or train with fewer workers."]
    [under_bsp] = shown(state, BSP).alerts
    assert "They wait for it in each round" in under_bsp


def endless(gate: Gate, **more: Any) -> str:
    state = fold({}, 1, pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), AT, endless=True, **more)
    [alert] = shown(state, gate).alerts
    run = RunAlerts(gate, endless=True)
    run.take(pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), 1)
    assert run.sentences[0].partition("Stop ")[0].startswith(alert.partition("Stop ")[0]), "`train` says the same"
    return alert


def test_a_slow_worker_of_a_job_without_an_end_delays_none() -> None:
    """No share is ever trained to its end, so a quorum helps, and dealing does not."""
    asp, bsp, ssp = endless(ASP), endless(BSP), endless(Gate(mode="ssp"))
    assert asp.endswith(
        "The others do not wait for it, so it costs the job only its own speed. To train faster, run it on a faster machine."
    )
    assert "set gate.quorum, so that rounds end without it" in bsp
    assert "They wait for it when they are 3 rounds ahead." in ssp
    assert "or set gate to asp, so that no worker waits." in ssp
    for alert in (asp, bsp, ssp):
        assert "share" not in alert
        assert "data.deal" not in alert
        assert "the job ends" not in alert


def test_a_slow_worker_holds_nobody_up_where_mini_batches_are_dealt() -> None:
    dealt = ("server-0.0", [point(metric, -1, count) for metric, count in zip(DEALT, (900, 400, 0, 9, 0, 491), strict=True)])
    state = folded(*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), dealt)
    [alert] = shown(state, ASP).alerts
    assert "The others train what it leaves, so it costs the job only its own speed." in alert
    assert "share" not in alert
    assert shown(state, ASP).dealt is not None


def test_who_waits_for_a_slow_worker_has_its_pace_and_is_not_slow() -> None:
    """Under bsp all are equally far, and one computes for most of the time."""
    state = folded(*pushes({0: 1.0, 1: 1.0, 2: 1.0}, 30.0, compute={0: 0.1, 1: 0.1, 2: 0.9}))
    [alert] = shown(state, BSP).alerts
    assert "worker-2 is 9 times slower" in alert
    assert "They wait for it in each round" in alert
    assert "gate.quorum" in alert
    assert "adag" in alert


def test_when_the_others_have_finished_the_alert_says_so() -> None:
    left = [point(metrics.SHARE, rank, 200) for rank in range(3)] + [point(metrics.ACTIVE, rank, 0.0) for rank in (0, 1)]
    state = folded(*pushes({0: 7.0, 1: 7.0, 2: 1.0}, 30.0), ("server-0.0", left))
    assert "They have finished, and the job waits for worker-2 alone." in shown(state, ASP).alerts[0]


def test_equal_workers_and_the_first_moments_raise_no_alert() -> None:
    assert shown(folded(*pushes({0: 5.0, 1: 4.0, 2: 3.0}, 30.0)), ASP).alerts == []
    assert shown(folded(*pushes({0: 7.0, 1: 1.0}, 4.0)), ASP).alerts == []
    assert shown(folded(*pushes({0: 1.0}, 30.0)), ASP).alerts == []


def test_a_worker_that_has_become_as_fast_as_the_others_is_told_of_no_more() -> None:
    first = folded(*pushes({0: 7.0, 1: 1.0}, 10.0))
    assert shown(first, ASP).alerts
    later = folded(*pushes({0: 7.0, 1: 7.0}, 300.0), state=first)
    assert shown(later, ASP).alerts == []
    [end] = resolved_alerts(first, later)
    assert end == "worker-1 is no longer slow: it takes less than 1.5 times as long as the other workers."


def account(rank: int, pushed: int, **reasons: int) -> list[Point]:
    values = {"pushed": pushed, "dropped": sum(reasons.values()), **{f"dropped_{name}": count for name, count in reasons.items()}}
    return [Point(f"ledger/{name}", rank, 0, 0, 0, 100.0, value) for name, value in values.items()]


def test_pushes_that_are_dropped_as_not_finite_raise_an_alert() -> None:
    state = folded(("server-0.0", [*account(0, 126, not_finite=134 - 40), *account(1, 126, not_finite=40), *account(2, 0)]))
    [alert] = shown(state, ASP).alerts
    assert alert.startswith(
        "53 % of the pushes were dropped because they held a NaN or an infinity; they came from workers 0 and 1."
    )
    assert "strategy.lr" in alert
    assert [told.data for told in new_alerts({}, state, lambda: ASP)] == [{"dropped": "not_finite"}]


def test_an_attempt_that_resumes_from_before_dropped_pushes_has_no_alert_of_them() -> None:
    """Until it drops as many itself."""
    state = folded(("server-0.0", account(0, 20, not_finite=5)))
    assert shown(state, ASP).alerts
    resumed = folded(("server-0.0", account(0, 10)), state=state, attempt=2)
    assert shown(resumed, ASP).alerts == []
    [alert] = shown(folded(("server-0.0", account(0, 20, not_finite=4)), state=resumed, attempt=2), ASP).alerts
    assert alert.startswith("20 % of the pushes")


def test_stale_pushes_raise_an_alert_and_those_beyond_a_quorum_do_not() -> None:
    gate = Gate(mode="asp", max_staleness=4)
    [alert] = shown(folded(("server-0.0", account(0, 100, stale=30))), gate).alerts
    assert alert.startswith("30 % of the pushes were dropped because they were 4 or more updates stale.")
    assert shown(folded(("server-0.0", account(0, 100, stale=10))), gate).alerts == []
    assert shown(folded(("server-0.0", account(0, 100, quorum=50))), Gate(mode="bsp", quorum=2)).alerts == []
    assert alerts.dropped_reasons([], {0: {"pushed": 100, "dropped_not_finite": 4}}) == []


def test_a_loss_that_is_not_finite_is_not_hidden_by_those_before() -> None:
    losses = [point(metrics.LOSS, 0, 0.5), point(metrics.LOSS, 1, 0.512), point(metrics.LOSS, 1, float("nan"))]
    state = folded(("worker-0.0", losses))
    assert (shown(state, ASP).loss, shown(state, ASP).not_finite) == (None, [1])
    healed = folded(("worker-1.0", [point(metrics.LOSS, 1, 0.3)]), state=state)
    assert (shown(healed, ASP).loss, shown(healed, ASP).not_finite) == (0.4, [])


def beyond(rows: int, state: dict[str, Any] | None = None, server: int = 1) -> dict[str, Any]:
    return folded((f"server-{server}", [point(metrics.ROWS_BEYOND, server, rows)]), state=state)


def test_a_server_whose_disk_is_full_is_told_of_once_and_shown_until_there_is_space() -> None:
    assert not shown(beyond(0), ASP).alerts
    state = beyond(1200)
    [alert] = shown(state, ASP).alerts
    assert alert.startswith("The disk of server-1 takes no more rows, so it keeps 1,200 rows in memory")
    assert "Free space on the disk of its node" in alert
    [told] = new_alerts({}, state, lambda: ASP)
    assert (told.sentence, told.actor, told.data) == (alert, "server-1", {"rows": 1200})
    again = beyond(0, state)
    assert not shown(again, ASP).alerts
    assert list(resolved_alerts(state, again)) == ["The disk of server-1 takes rows again, so its tables are within memory.rows."]
    [anew] = new_alerts(again, beyond(5000, again), lambda: ASP)
    assert anew.data == {"rows": 5000}
    assert not list(new_alerts(state, beyond(5000, state), lambda: ASP)), "it has an event already"
    assert len(shown(beyond(3, beyond(7, state), server=0), ASP).alerts) == 2
