"""Hogwild workers on a real platform: threads of one process on one theta."""

from pathlib import Path
from typing import Any

import pytest

from tests.platforms import Lab, slow_until
from tests.support import eventually

ONE = {"worker": {"count": 1, "hogwild": 2, "device": "cpu"}, "server": {"count": 2}}
TWO = {"worker": {"count": 2, "hogwild": 2, "device": "cpu"}, "server": {"count": 1}}
JOBS: dict[str, dict[str, Any]] = {
    "windows": {"roles": ONE, "strategy": {"name": "adag", "lr": 0.3, "window": 6}, "optimizer": {"name": "sgd", "momentum": 0.5}},
    "gradients": {"roles": TWO, "strategy": {"name": "async", "lr": 0.02}, "gate": {"ssp": 2}},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", JOBS)
def test_threads_train_every_sample_once(kind: str, lab: Lab) -> None:
    job = lab.ended(lab.submit("hogwild", stop={"epochs": 6}, **JOBS[kind]))
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert job.progress.samples == job.progress.total_samples == 6 * 256
    losses = lab.points(job, "train/loss")
    assert sorted(point.step for point in losses if point.rank == 0) == list(range(48 // JOBS[kind]["roles"]["worker"]["count"]))
    pushes = sum(count for (outcome, _), count in lab.ledger(job).items() if outcome == "pushed")
    assert pushes == (8 if kind == "windows" else 48), "one of each window, or one of each gradient"
    assert (job.progress.eval["loss"] or 9) < 0.5 * losses[0].value


@pytest.mark.more
def test_a_lost_worker_with_threads_goes_on_from_the_checkpoint(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    fields = {**JOBS["windows"], "gate": "bsp", "checkpoint": {"every": "1 epochs"}, "stop": {"epochs": 6}}
    job = lab.submit("hogwild-dies", args=slow_until(go, 0.5), **fields)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.kill("worker-0")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 2)
    assert job.progress.samples == job.progress.total_samples == 6 * 256


def test_an_error_in_a_thread_fails_the_job_with_its_traceback(lab: Lab) -> None:
    job = lab.ended(lab.submit("hogwild-breaks", args={"breaks": "loss"}, retries=0, **JOBS["windows"]))
    assert (job.status, job.reason) == ("failed", "user_error")
    assert "broken in loss" in (job.message or "")


@pytest.mark.more
@pytest.mark.parametrize("strategy", [{"name": "adag", "window": 6, "lr": 0.1}, {"name": "async", "lr": 0.05}], ids=str)
def test_threads_share_the_rows_of_embedding_tables(strategy: dict[str, Any], lab: Lab) -> None:
    job = lab.ended(
        lab.submit(
            "hogwild-tables",
            workload={"entrypoint": "planted_clicks:Clicks", "args": {"ahead": True}},
            strategy=strategy,
            batch_size=32,
            roles={"worker": {"count": 2, "hogwild": 2, "device": "cpu"}, "server": {"count": 2}},
            tables={"default": {"rule": {"name": "adagrad", "lr": 0.1}, "cache": {"rows": 300, "bound": 2}}},
            stop={"epochs": 4},
        )
    )
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert job.progress.samples == job.progress.total_samples == 4 * 2000
    assert (job.progress.eval["loss"] or 9) < 0.67 < 0.69, "the loss of a model that has learned nothing is 0.69"
