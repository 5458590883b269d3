"""A failure on the terminal: its reason stands once, before or in the conclusion."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gradstream.cli.following.told_events import EventLines, shorten_event
from gradstream.client import Event

WHY = "failed in loss(): RuntimeError: broken (w.py:8)"


def event(kind: str, message: str, actor: str = "controller", **data: Any) -> Event:
    return Event(seq=1, time=datetime.now(UTC), kind=kind, actor=actor, message=message, data=data)


FAILED = event("process", f"worker-0 exited, user_error: {WHY}", "node:one", label="worker-0", reason="user_error")
KILLED = event("process", "worker-0 exited, killed: killed by signal 9", "node:one", label="worker-0", reason="killed")
CHECKPOINT = event("checkpoint", "checkpoint 1 is written", "evaluator")
STOPPING = event("status", "stopping: worker-0 failed; the other processes are ended.", to="failed", process="worker-0")
ENDED = event("status", "failed: all its processes have ended.", to="failed")


def lines_of(*events: Event) -> list[str]:
    lines = EventLines()
    return [line for each in events for line in lines.take(each)]


def test_the_reason_for_which_a_job_fails_is_left_to_the_conclusion() -> None:
    never = event("process", "worker-1 exited, stopped: it was never started", label="worker-1", reason="stopped")
    told = lines_of(FAILED, CHECKPOINT, never, STOPPING, ENDED)
    assert told == [CHECKPOINT.message, never.message, "worker-0 exited, user_error", STOPPING.message, ENDED.message]


def test_a_process_that_fails_while_the_others_are_ended_leaves_the_reason_to_the_conclusion() -> None:
    late = event("process", "evaluator exited, user_error: failed in dataset('eval'): RuntimeError: broken", reason="user_error")
    attempt = event("attempt", "attempt 1 failed", number=1)
    told = lines_of(FAILED, STOPPING, late, attempt, ENDED)
    expected = ["worker-0 exited, user_error", STOPPING.message, "evaluator exited, user_error", attempt.message, ENDED.message]
    assert told == expected


def test_a_failure_that_the_job_survives_is_told_with_its_reason() -> None:
    respawn = event("process", "worker-0 ended. It starts again on one; the others go on.", label="worker-0", incarnation=1)
    assert lines_of(KILLED, respawn) == [KILLED.message, respawn.message]
    lost, queued = event("attempt", "attempt 1 lost", number=1), event("status", "queued: worker-0 ended. ...", to="queued")
    assert lines_of(KILLED, lost, queued) == [KILLED.message, lost.message, queued.message]


def test_a_job_that_fails_without_a_process_to_blame_has_its_reason_in_the_conclusion_only() -> None:
    stopping = event("status", "stopping: worker-0 did not start within 120 s.", to="failed")
    assert lines_of(stopping, ENDED) == ["stopping", ENDED.message]
    timed_out = event("status", "stopping: It ran for more than 1 s, its timeout.", to="timed_out")
    assert lines_of(timed_out) == [timed_out.message]


def test_an_event_refers_to_what_the_headline_tells() -> None:
    assert shorten_event(FAILED, f"worker-0: {WHY}") == "worker-0 exited, user_error"
    assert shorten_event(FAILED, None) == shorten_event(FAILED, "All processes run.") == FAILED.message
    assert shorten_event(CHECKPOINT, f"worker-0: {WHY}") == CHECKPOINT.message


def test_alerts_and_their_ends_are_named() -> None:
    raised, over = event("warning", "The disk is full."), event("resolved", "The disk has space again.", "server-1")
    assert lines_of(raised, over) == ["alert: The disk is full.", "resolved: The disk has space again."]
