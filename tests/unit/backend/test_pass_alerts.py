"""Alerts of jobs that learn in passes, and the noise that raises none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from backend.progress.alert_rules import new_alerts, resolved_alerts
from backend.progress.folding import fold
from backend.progress.state import failed_exports
from backend.progress.summary import shown
from gradstream import metrics
from gradstream.gate import Gate
from gradstream.local.training.alerts import RunAlerts
from gradstream.metrics import Metric, Point

AT, BSP = datetime(2026, 1, 1, tzinfo=UTC), Gate(mode="bsp")
Batch = tuple[str, list[Point]]


def point(metric: Metric, value: float, number: int = 0, rank: int = -1) -> Point:
    return Point(metric.name, rank, number, 1000 * number, number, 100.0 + number, value)


def passes(behind: Sequence[float], calibration: Sequence[float] = ()) -> list[Batch]:
    """One pass after the other, of 1,000 examples; two workers share what is left."""
    batches = list[Batch]()
    for number, left in enumerate(behind, 1):
        batches += [(f"worker-{rank}.0", [point(metrics.BEHIND, left / 2, number, rank)]) for rank in range(2)]
        figures = {"log_loss": 0.5, "calibration": calibration[number - 1] if calibration else 1.0}
        batches.append(("server-0.0", [point(metrics.PASSED[key], value, number) for key, value in figures.items()]))
    return batches


def alerts(batches: Sequence[Batch]) -> list[str]:
    """They are the same on the page and in `gradstream train`."""
    found = shown(fold({}, 1, batches, AT), BSP).alerts
    run = RunAlerts(BSP)
    run.take(batches, 1)
    assert run.sentences == found
    return list(found)


def test_workers_that_are_further_behind_with_each_pass() -> None:
    [sentence] = alerts(passes([0, 400, 800, 1200, 1600, 2000]))
    assert "rose with each of the last 5 passes, to 2,000. That is 2.0 passes. Add workers" in sentence


@pytest.mark.parametrize(
    "behind",
    [
        [0, 400, 800, 1200, 1600],  # not long enough
        [9000, 8000, 7000, 6000, 5000, 4000],  # they catch up
        [5000] * 9,  # they keep up with what comes
        [0, 10, 20, 30, 40, 50],  # less than a pass
        [0, 900, 800, 1900, 1800, 2900, 2800],  # files come in pairs
    ],
)
def test_workers_that_are_not(behind: list[float]) -> None:
    assert alerts(passes(behind)) == []


def test_calibration_that_is_off_in_each_of_five_passes() -> None:
    [sentence] = alerts(passes([0] * 6, [1.0, 1.4, 1.3, 1.5, 1.28, 1.44]))
    assert "was 1.28 to 1.50 in the last 5 passes, always above 1" in sentence
    [sentence] = alerts(passes([0] * 5, [0.4, 0.5, 0.7, 0.6, 0.7]))
    assert "always below 1" in sentence
    assert alerts(passes([0] * 6, [1.4, 1.3, 1.5, 1.28, 1.44, 1.1])) == [], "it ends with a pass that is right"
    assert alerts(passes([0] * 5, [1.4, 1.3, 0.5, 1.3, 1.4])) == [], "not to the same side"


def test_noise_of_passes_with_few_positives_raises_none() -> None:
    """50 positives a pass, and as many are predicted: the ratio has a deviation of about 0.14."""
    ratios = 50 / np.maximum(1, np.random.default_rng(1).poisson(50, 500))
    state, found = dict[str, object](), 0
    for ratio in ratios:
        before, state = state, fold(state, 1, passes([0], [float(ratio)]), AT)
        found += len(list(new_alerts(before, state, lambda: BSP)))
    assert found == 0


def test_an_event_is_written_once_and_a_new_attempt_begins_anew() -> None:
    half = fold({}, 1, passes([0, 400, 800, 1200, 1600]), AT)
    whole = fold(half, 1, passes([2000]), AT)
    more = fold(whole, 1, passes([2400]), AT)
    assert [len(list(new_alerts(*pair, lambda: BSP))) for pair in ((half, whole), (whole, more))] == [1, 0]
    assert shown(fold(more, 2, passes([2800]), AT), BSP).alerts == []
    [end] = resolved_alerts(more, fold(more, 1, passes([2400]), AT))
    assert end.startswith("Workers no longer fall behind: ")


def test_the_end_of_calibration_that_is_off() -> None:
    off = fold({}, 1, passes([0] * 5, [1.4, 1.3, 1.5, 1.28, 1.44]), AT)
    [end] = resolved_alerts(off, fold(off, 1, passes([0], [1.1]), AT))
    assert end == "Calibration is no longer off to one side: a pass was within 0.8 to 1.25, or off to the other side."


def failed(count: int, place: int = 0) -> list[tuple[str, list[Point]]]:
    return [("server-1.0", [Point(metrics.EXPORTS_FAILED.name, 1, place, 0, 0, 100.0, count)])]


def test_a_source_out_of_reach_raises_one_alert_until_every_worker_reaches_it() -> None:
    def unreachable(worker: int, is_so: bool) -> list[tuple[str, list[Point]]]:
        return [(f"worker-{worker}.0", [Point(metrics.UNREACHABLE.name, worker, 0, 0, 0, 100.0, float(is_so))])]

    one = fold({}, 1, unreachable(1, True), AT)
    [raised] = new_alerts({}, one, lambda: BSP)
    assert raised.sentence.startswith("Worker 1 cannot reach the stream or topic that the job follows. Workers wait up to 10 min")
    both = fold(one, 1, unreachable(0, True), AT)
    assert list(new_alerts(one, both, lambda: BSP)) == []
    [shown_now] = shown(both, BSP).alerts
    assert shown_now.startswith("Workers 0 and 1 cannot reach")
    assert "The log of worker-0 has the address" in shown_now
    half = fold(both, 1, unreachable(1, False), AT)
    assert list(resolved_alerts(both, half)) == []
    gone = fold(half, 1, unreachable(0, False), AT)
    assert list(resolved_alerts(half, gone)) == ["Every worker reaches the stream or topic that the job follows."]
    assert shown(gone, BSP).alerts == []
    assert list(resolved_alerts(both, fold(both, 2, [], AT))) == [], "a new attempt begins anew, unjudged"


def test_partitions_without_a_leader_raise_one_alert_until_they_are_back() -> None:
    def leaderless(worker: int, lowest: int, count: int) -> list[tuple[str, list[Point]]]:
        return [(f"worker-{worker}.0", [Point(metrics.LEADERLESS.name, worker, lowest, 0, 0, 100.0, count)])]

    one = fold({}, 1, leaderless(1, 3, 1), AT)
    [told] = new_alerts({}, one, lambda: BSP)
    assert told.sentence.startswith("Partition 3 of the followed topic has no leader that answers. Workers wait up to 10 min, then")
    assert told.sentence.endswith("The log of worker-1 has topic and addresses.")
    both = fold(one, 1, leaderless(0, 3, 1), AT)
    assert list(new_alerts(one, both, lambda: BSP)) == [], "the other worker sees the same"
    more = fold(both, 1, leaderless(0, 2, 2), AT)
    [told] = new_alerts(both, more, lambda: BSP)
    assert told.sentence.startswith("Partition 2 and another partition of the followed topic have no leader")
    assert shown(more, BSP).alerts == [told.sentence]
    half = fold(more, 1, leaderless(0, 0, 0), AT)
    gone = fold(half, 1, leaderless(1, 0, 0), AT)
    assert shown(gone, BSP).alerts == []
    ends = [list(resolved_alerts(*pair)) for pair in ((one, more), (more, half), (half, gone), (gone, gone))]
    assert ends == [[], [], ["Every partition of the followed topic has a leader again."], []]
    assert list(resolved_alerts(more, fold(more, 2, [], AT))) == [], "a new attempt begins anew, unjudged"


def test_the_next_export_comes_sooner_after_few_failures() -> None:
    delays, state = [], dict[str, object]()
    for count in range(1, 9):
        state = fold(state, 1, failed(count, place=count + 2), AT)
        found = failed_exports(state, 1)
        delays.append(found.retry_delay(count + 2))
        assert found.retry_delay(count + 1) is None, "another one is the newest"
        assert found.retry_delay(count + 3) is None
    assert delays == [10, 20, 40, 80, 160, 320, 600, 600]
    assert failed_exports(state, 2).retry_delay(10) is None, "a new attempt"
    assert failed_exports(fold(state, 1, failed(0, place=11), AT), 1).retry_delay(10) is None


def test_a_server_that_cannot_store_its_exports_is_told_of_until_it_can() -> None:
    once = fold({}, 1, failed(1), AT)
    [told] = new_alerts({}, once, lambda: BSP)
    assert told.sentence.startswith("server-1 could not store its part of the last export, so readers keep an earlier one.")
    assert "The log of server-1 names the tables and the reason. Look for a full disk" in told.sentence
    twice = fold(once, 1, failed(2), AT)
    [more] = new_alerts(once, twice, lambda: BSP)
    assert "any of the last 2 exports" in more.sentence
    assert shown(twice, BSP).alerts == [more.sentence]
    stored = fold(twice, 1, failed(0), AT)
    assert shown(stored, BSP).alerts == []
    assert [*resolved_alerts(once, twice), *resolved_alerts(twice, stored)] == [
        "server-1 has stored its part of the newest export, with the changes of those that failed."
    ]
