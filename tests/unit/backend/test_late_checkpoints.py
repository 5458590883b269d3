"""Checkpoints that take longer to store than the interval: their alert, and the request that takes the place of a stuck one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from backend.progress.alert_rules import new_alerts, resolved_alerts
from backend.progress.folding import fold
from backend.progress.state import checkpoint_watch
from backend.scheduler.decide import CHECKPOINT_TIMEOUT, TakeCheckpoint
from gradstream.gate import Gate
from gradstream.metrics import Point
from gradstream.metrics.checkpoints import CHECKPOINT_SECONDS, CHECKPOINTS_SKIPPED
from tests.unit.backend.test_decide import RUNNING, next_step, spec

AT, BSP = datetime(2026, 1, 1, tzinfo=UTC), Gate(mode="bsp")
BY_SAMPLES = replace(RUNNING, spec=spec(checkpoint={"every": "100 samples"}))


def skips(number: int, count: int = 1) -> Point:
    return Point(CHECKPOINTS_SKIPPED.name, -1, number, 0, 0, 0.0, float(count))


def stored(number: int, skipped: int, seconds: float = 48.24) -> list[Point]:
    return [Point(CHECKPOINT_SECONDS.name, -1, number, 0, 0, 0.0, seconds), skips(number, skipped)]


def reported(*points: Point, state: dict[str, Any] | None = None, after: float = 0.0, source: str = "server-0.0") -> dict[str, Any]:
    return fold(state or {}, 1, [(source, points)], AT + timedelta(seconds=after))


def sentences(before: dict[str, Any], state: dict[str, Any]) -> list[str]:
    return [alert.sentence for alert in new_alerts(before, state, lambda: BSP)]


def test_an_alert_has_the_figures_and_a_remedy_and_is_told_once() -> None:
    begun = reported(skips(1))
    assert sentences({}, begun) == [], "the figures come with the commit"
    late = reported(*stored(1, 3), state=begun)
    assert sentences(begun, late) == [
        "Checkpoints are made less often than checkpoint.every says: storing checkpoint 1 took 48.2 s, and 3 that were due "
        "meanwhile were skipped. Raise checkpoint.every, or give the platform's files a faster disk."
    ]
    assert sentences(late, reported(skips(2), *stored(2, 1), state=late)) == []


def test_the_alert_is_over_after_three_that_were_stored_in_time() -> None:
    state = reported(*stored(1, 2))
    for number in (2, 3):
        before, state = state, reported(*stored(number, 0, 0.1), state=state)
        assert list(resolved_alerts(before, state)) == []
    before, state = state, reported(*stored(4, 0, 0.1), state=state)
    assert list(resolved_alerts(before, state)) == [
        "The last 3 checkpoints were stored before the next one was due, so none is skipped any more."
    ]


def test_user_code_cannot_say_that_a_checkpoint_is_awaited() -> None:
    assert checkpoint_watch(reported(skips(1), source="worker-0.0"), 1).awaited == 0
    assert checkpoint_watch(reported(skips(1)), 1).awaited == 1
    assert checkpoint_watch(reported(*stored(1, 1), state=reported(skips(1))), 1).awaited == 0


def test_a_checkpoint_by_samples_that_is_not_stored_in_time_is_replaced_by_a_request() -> None:
    assert next_step(replace(BY_SAMPLES, since_checkpoint_request=1e6)) is None, "shards take them by themselves"
    stuck = replace(BY_SAMPLES, awaited_checkpoint=3, since_awaited=CHECKPOINT_TIMEOUT + 1, since_checkpoint_request=1e6)
    assert next_step(stuck) == TakeCheckpoint(4)
    assert next_step(replace(stuck, since_awaited=CHECKPOINT_TIMEOUT - 1)) is None
    assert next_step(replace(stuck, to_store=400)) is None
    asked = replace(stuck, checkpoint_requested=4, since_checkpoint_request=1)
    assert next_step(asked) is None, "the request is on its way"
    assert next_step(replace(asked, since_checkpoint_request=CHECKPOINT_TIMEOUT + 1)) == TakeCheckpoint(4), "it was lost"
    assert next_step(replace(stuck, final_checkpoint=True)) is None
