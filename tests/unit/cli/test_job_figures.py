"""What the list of jobs and the line of progress say of a job's figures."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.api.jobs import Job
from gradstream.cli.following.follow import Bar, _trained
from gradstream.cli.jobs import jobs
from gradstream.cli.terminal import output

_TITLE = "\x1b]0;owned\x07"


def job(status: str = "running", **progress: Any) -> Job:
    return Job.model_validate(
        {
            "id": "11111111-1111-1111-1111-111111111111",
            "name": "a",
            "status": status,
            "reason": None,
            "message": None,
            "position": None,
            "seq": 1,
            "strategy": "adag",
            "gate": "asp",
            "created_at": "2026-01-10T12:00:00Z",
            "started_at": None,
            "ended_at": None,
            "attempt": 1,
            "user": "ada",
            "progress": progress,
            "spec": {},
            "bundle": None,
            "retries_used": 0,
            "tags": [],
            "note": "",
            "archived": False,
            "priority": 50,
            "workers": 2,
            "shards": 1,
        }
    )


def test_each_job_shows_the_metric_that_it_is_judged_by() -> None:
    assert jobs._evaluation(job(eval={"accuracy": 0.975, "loss": 0.1}, main_metric="accuracy")) == "accuracy 0.975"
    assert jobs._evaluation(job(eval={"mae": 0.25, "loss": 0.1}, main_metric="mae")) == "mae 0.25"
    assert jobs._evaluation(job()) == ""


def test_evaluation_metrics_that_are_named_like_figures_of_the_job_are_told_apart() -> None:
    scores = {"train/loss": 1.0, "staleness": 9.0, "samples": 3.0, "loss": 2.0}
    line = output.progress_line(job(samples=100, loss=0.5, mean_staleness=4.0, eval=scores))
    assert line == "100 samples  loss 0.5  eval/samples 3  eval/staleness 9  eval/train/loss 1  staleness 4"


def test_what_is_sorted_by_is_shown_best_first() -> None:
    assert jobs._SORTED["loss"](job(loss=0.5)) == "0.5"
    assert jobs._SORTED["loss"](job(not_finite=[1])) == "NaN"
    assert "loss" in jobs._LEAST_FIRST
    assert not jobs._LEAST_FIRST & {"accuracy", "throughput", "created"}


def test_the_line_of_progress_says_nan_and_how_long_it_takes() -> None:
    line = output.progress_line(job(samples=100, not_finite=[0], seconds_left=950.0))
    assert "loss NaN" in line
    assert "about 16 min left" in line
    assert "left" not in output.progress_line(job("failed", samples=100, seconds_left=950.0))


def test_the_bar_is_never_full_before_the_end() -> None:
    assert _trained(job(samples=1000, total_samples=1000, done=1.0)) == 990
    assert _trained(job(samples=100, total_samples=1000, done=0.5)) == 500


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (180.0, 300.0, "3 to 5 min left"),
        (50.0, 160.0, "50 s to 3 min left"),
        (235.0, 245.0, "about 4 min left"),
        (None, None, "about 4 min left"),
    ],
)
def test_the_time_left_is_a_range_where_the_speeds_vary(low: float | None, high: float | None, said: str) -> None:
    line = output.progress_line(job(seconds_left=240.0, seconds_left_low=low, seconds_left_high=high))
    assert line.endswith(f"  {said}")


@pytest.mark.parametrize(("written", "shown"), [("top[k]", "top[k]"), ("recall[/5]", "recall[/5]"), (_TITLE, "^[]0;owned^G")])
def test_the_bar_of_a_job_shows_names_of_metrics_as_they_are(
    written: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    output.talking.cache_clear()
    with Bar() as bar:
        bar.job(job(eval={written: 0.5}))
    output.talking.cache_clear()
    err = capsys.readouterr().err
    assert f"eval/{shown} 0.5" in err
    assert _TITLE not in err
