"""Mistakes in user code and data: the job fails at once, with the place and the user's own message, and no second attempt."""

from pathlib import Path
from typing import Any

import pytest

from backend.settings import BackendSettings
from gradstream.api.jobs import Job
from gradstream.errors import InvalidJob
from tests.platforms import Lab, slow_until
from tests.support import eventually

MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "import": ({"env": {"BREAK_AT_IMPORT": "1"}}, "user_error", "import steady: RuntimeError: broken at import"),
    "model": ({"args": {"breaks": "model"}}, "user_error", "model(): RuntimeError: broken in model"),
    "loss": ({"args": {"breaks": "loss"}}, "user_error", "loss(): RuntimeError: broken in loss"),
    "evaluate": ({"args": {"breaks": "evaluate"}}, "user_error", "failed in evaluate(): RuntimeError: broken in evaluate"),
    "metric name": ({"args": {"breaks": "metric name"}}, "user_error", "evaluate() must name its metrics"),
    "clip": ({"args": {"breaks": "clip"}}, "user_error", "failed in loss(): it changed the parameter weight in place"),
    "nan": ({"args": {"breaks": "nan"}}, "loss_not_finite", "loss of mini-batch"),
    "empty data": ({"args": {"examples": 0}}, "dataset_too_small", "0 examples for 2 workers"),
    "little data": ({"args": {"examples": 1}}, "dataset_too_small", "1 examples for 2 workers"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_fails_the_job_with_its_place_and_message(mistake: str, lab: Lab) -> None:
    fields, reason, message = MISTAKES[mistake]
    job = lab.ended(lab.submit(mistake.replace(" ", "-"), **fields))
    assert (job.status, job.reason, job.attempt) == ("failed", reason, 1)
    assert job.message is not None
    assert message in job.message


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"workload": {"entrypoint": "steady:Nothing"}}, "/workload/entrypoint", "Nothing"),
        ({"args": {"paus": 1}}, "/workload/args/paus", "did you mean 'pause'?"),
    ],
)
def test_what_the_code_lacks_is_refused_at_submission(fields: dict[str, Any], pointer: str, message: str, lab: Lab) -> None:
    with pytest.raises(InvalidJob) as refused:
        lab.submit("refused", **fields)
    [problem] = refused.value.problems
    assert problem.pointer == pointer
    assert message in problem.message


def test_the_log_has_the_users_traceback(lab: Lab) -> None:
    job = lab.ended(lab.submit("traceback", args={"breaks": "loss"}))
    text = "".join(chunk.text for chunk in lab.client.logs(job.id))
    assert 'raise RuntimeError("broken in loss")' in text
    assert "steady.py" in text


def test_a_crash_in_native_code_leaves_the_stack_of_python_in_the_log(lab: Lab) -> None:
    job = lab.ended(lab.submit("crashes", args={"breaks": "crash"}, retries=0))
    assert job.status == "failed"
    assert "killed by signal 11" in (job.message or "")
    text = "".join(chunk.text for chunk in lab.client.logs(job.id))
    assert "Fatal Python error: Segmentation fault" in text
    assert "steady.py" in text


def test_a_score_that_is_not_finite_does_not_hold_up_the_end(lab: Lab) -> None:
    job = lab.ended(lab.submit("nan-score", args={"breaks": "score"}))
    assert job.status == "succeeded"
    assert job.progress.eval == {"ratio": None}
    [alert] = job.progress.alerts
    assert alert.startswith("eval/ratio was not a finite number"), "the job has ended"
    told = [event.message for event in lab.client.events(job.id) if event.kind == "warning"]
    assert alert.replace("was not a", "is not a") in told
    [series] = lab.client.charts(job.id, ["eval/ratio"])[0].series
    assert series.columns.last[-1] is None
    assert series.columns.odd[-1] > 0


def submit_hanging(lab: Lab, name: str, file: Path, args: dict[str, Any] | None = None) -> Job:
    """A job of which all processes wait in the import of user code until this file is there."""
    job = lab.submit(name, args=args, env={"WAIT_AT_IMPORT": str(file), "START_WARNING_SECONDS": "1"})
    eventually(lambda: "worker-0 and worker-1" in " ".join(lab.client.job(job.id).progress.alerts), "an alert of both workers")
    return job


def test_code_that_does_not_return_is_told_with_its_line_and_goes_on(lab: Lab, tmp_path: Path) -> None:
    job = submit_hanging(lab, "slow-import", tmp_path / "go", {**slow_until(tmp_path / "seen"), "pause": 0.5})
    [alert] = eventually(lambda: [a for a in lab.client.job(job.id).progress.alerts if "evaluator" in a], "the evaluator")
    assert alert.startswith("evaluator, worker-0 and worker-1 have been in import steady for more than 1 s, at steady.py:15")
    (tmp_path / "go").touch()
    eventually(lambda: "import steady has ended" in lab.messages(job), "the event that it goes on")
    (tmp_path / "seen").touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.progress.alerts) == ("succeeded", 1, [])
    warnings = [event for event in lab.client.events(job.id) if event.kind == "warning" and "import steady" in event.message]
    assert len(warnings) == 1, "one place, one event"


@pytest.mark.more
def test_a_job_that_hangs_at_its_start_stops_before_its_grace_is_over(lab: Lab, tmp_path: Path) -> None:
    job = submit_hanging(lab, "hanging-import", tmp_path / "never")
    lab.client.stop(job.id)
    job = lab.ended(job)
    assert job.status == "cancelled"
    assert job.ended_at is not None
    stopping = next(event for event in lab.client.events(job.id) if event.data.get("to") == "cancelled")
    assert (job.ended_at - stopping.time).total_seconds() < BackendSettings.model_fields["stop_grace"].default.total_seconds()


@pytest.mark.more
def test_evaluation_rows_that_are_training_rows_are_told_of(lab: Lab) -> None:
    job = lab.ended(lab.submit("overlap", args={"breaks": "overlap"}))
    assert job.status == "succeeded"
    [alert] = job.progress.alerts
    assert alert.startswith("64 of 64 evaluation rows that were compared are training rows, too")
    assert alert in [event.message for event in lab.client.events(job.id) if event.kind == "warning"]


def test_a_loss_that_is_not_finite_may_be_dropped_instead(lab: Lab) -> None:
    job = lab.ended(lab.submit("drop-nan", args={"breaks": "nan"}, strategy={"name": "async", "lr": 0.05}, on_nan="drop"))
    assert job.status == "succeeded"
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["dropped", rank] == ledger["pushed", rank] - 3
        assert ledger["applied", rank] == 3, "before its losses were NaN"
