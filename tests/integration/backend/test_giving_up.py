"""A job that the control plane cannot go on with, for a reason nobody foresaw: it is ended, and holds up no other."""

from __future__ import annotations

from typing import Any

import pytest

from backend.platform import Platform
from backend.scheduler import giving_up
from gradstream.wire.redis import keys
from tests.integration.backend.running import Running


class Broken:
    """Steps that fail as no one expected, as often as told."""

    def __init__(self, steps: Any, times: int) -> None:
        self._steps, self._left = steps, times

    def advance(self, job_id: object) -> Any:
        if self._left:
            self._left -= 1
            raise ZeroDivisionError("nobody foresaw this")
        return self._steps.advance(job_id)


def test_passes_that_keep_failing_end_the_job(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving_up, "TIMEOUT", 0.0)
    running.controller._steps = Broken(running.controller._steps, times=1)  # type: ignore[assignment]
    running.controller.run_once()
    assert running.job["status"] == "stopping"
    running.end_all()
    running.controller.run_once()
    assert running.status == ("failed", "internal_error")


def test_even_its_end_may_fail(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving_up, "TIMEOUT", 0.0)
    running.controller._steps = Broken(running.controller._steps, times=2)  # type: ignore[assignment]
    running.controller.run_once()
    running.controller.run_once()
    assert running.status == ("failed", "internal_error")


def test_one_failure_is_no_reason(running: Running) -> None:
    running.controller._steps = Broken(running.controller._steps, times=1)  # type: ignore[assignment]
    running.controller.run_once()
    running.controller.run_once()
    assert running.status == ("running", None)


@pytest.mark.more
def test_metrics_that_cannot_be_read_hold_up_nothing(running: Running, platform: Platform) -> None:
    stream = keys.metrics(running.agent.order("worker-0").plane_id)
    for fields in ({"nonsense": "x"}, {"source": "worker-0.0", "batch": "0", "points": "[[1]]"}, {"source": "\xff", "batch": "x"}):
        platform.plane.xadd(stream, fields)
    good = '[[1.5, 0, 1, 32, 1, "train/loss", 0.25]]'
    platform.plane.xadd(stream, {"source": "worker-0.0", "batch": "1", "points": good})
    running.controller.run_once()
    assert running.job["progress"]["loss"] == 0.25
    assert platform.plane.xlen(stream) == 0
