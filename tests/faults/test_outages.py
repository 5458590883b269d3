"""Redis or Postgres away: everything waits, then goes on. Redis come back empty: a new attempt from the last checkpoint."""

from pathlib import Path

import psutil
import pytest

from tests.platforms import Lab, slow_until
from tests.support import eventually

PAUSE = 0.2
"""Seconds of a mini-batch until `go` is there."""
EPOCHS = 25
"""Each worker has four mini-batches: 20 s with pauses, and a moment without."""


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """A file: jobs that wait for it are slow until it is there, so that an outage falls into their training."""
    return tmp_path / "go"


@pytest.mark.more
def test_ten_seconds_without_the_planes_redis(lab: Lab, go: Path) -> None:
    job = lab.submit("plane-away", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS})
    lab.trains(job, 300)
    with lab.frozen(lab.program("valkey-server", "redis-plane"), 10):
        pass
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert job.progress.samples == job.progress.total_samples


@pytest.mark.more
def test_ten_seconds_without_postgres(lab: Lab, go: Path) -> None:
    job = lab.submit("postgres-away", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS})
    lab.trains(job, 300)
    with lab.frozen(postgres(lab), 10):
        pass
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert len(lab.points(job, "train/loss")) == EPOCHS * 8, "every point is stored, also those of the outage"


@pytest.mark.more
def test_the_broker_restarted_empty_changes_nothing(lab: Lab, go: Path) -> None:
    job = lab.submit("broker-lost", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS})
    lab.trains(job, 200)
    lab.program("valkey-server", "redis-live").kill()
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert lab.ended(lab.submit("after-the-broker")).status == "succeeded"


def test_a_plane_that_came_back_empty_makes_a_new_attempt_that_is_not_charged(lab: Lab, go: Path) -> None:
    job = lab.submit("plane-lost", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS}, checkpoint={"every": 0.5})
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.program("valkey-server", "redis-plane").kill()
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 0)
    assert job.progress.samples == job.progress.total_samples


def test_a_restarted_api_and_controller_go_on_with_the_jobs_that_run(lab: Lab, go: Path) -> None:
    job = lab.submit("control-plane-restarts", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS})
    lab.trains(job, 200)
    lab.program("backend", "controller").kill()
    lab.program("backend", "api").kill()
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)


def postgres(lab: Lab) -> psutil.Process:
    return lab.program("postgres", "-D")
