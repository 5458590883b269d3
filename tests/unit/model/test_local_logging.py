"""Logged values and hooks in `run --local`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradstream.local_run import train
from gradstream.spec import JobSpec
from gradstream.user_logging.names import MAX_NAMES

USERLAND = Path(__file__).parents[2] / "userland"


def job(**more: Any) -> JobSpec:
    given = {
        "name": "logs",
        "workload": {"entrypoint": "logs_values:Logs", "args": more.pop("args", {})},
        "strategy": {"name": "sync", "lr": 0.01},
        "batch_size": 8,
        "evaluate": {"every": "64 samples", "batch_size": 4},
        "stop": {"epochs": 3},
    }
    return JobSpec.model_validate(given | more)


def test_each_report_has_what_was_logged_since_the_last_one() -> None:
    reports = list(train(job(), USERLAND))
    assert [report.step for report in reports] == [8, 16, 24]
    for epoch, report in enumerate(reports):
        logged = report.logged
        assert logged["user/loss"] == pytest.approx(report.loss, rel=1e-6)
        assert (logged["user/examples"], logged["user/hooks/epoch"]) == (8.0, epoch)
        assert logged["user/eval/input"] == pytest.approx(4.5 / 64, rel=1e-6)
        assert logged["user/eval/hooks/loss"] == report.evaluation["loss"]
        assert logged.get("user/hooks/epoch_end") == [None, 0.0, 2.0][epoch], "the last report has those of the passes 1 and 2"
    assert "user/hooks/start" in reports[0].logged
    assert [report.logged.get("user/hooks/end") for report in reports] == [None, None, 1.0]


def test_a_pass_that_is_cut_short_does_not_end() -> None:
    [*_, last] = train(job(stop={"steps": 12}), USERLAND)
    assert (last.logged["user/hooks/epoch_end"], last.logged["user/hooks/end"]) == (0.0, 1.0)


def test_too_many_names_raise_one_alert() -> None:
    alerts = [alert for report in train(job(args={"names": MAX_NAMES}), USERLAND) for alert in report.alerts]
    [alert] = [alert for alert in alerts if alert.startswith(f"run --local logs values under more than {MAX_NAMES} names")]
    assert alert.endswith("a new one at each step.")
