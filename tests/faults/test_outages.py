"""Redis or Postgres away: everything waits, then goes on. Redis come back empty: a new attempt from the last cut."""

import time

import psutil

from tests.platforms import Lab
from tests.support import eventually

SLOW = {"pause": 0.02}


def test_ten_seconds_without_the_planes_redis(lab: Lab) -> None:
    job = lab.submit("plane-away", args=SLOW, stop={"epochs": 30})
    lab.trains(job, 300)
    with lab.frozen(lab.program("valkey-server", "redis-plane"), 10):
        pass
    job = lab.ended(job, 90)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert job.progress.samples == job.progress.total_samples


def test_ten_seconds_without_postgres(lab: Lab) -> None:
    job = lab.submit("postgres-away", args=SLOW, stop={"epochs": 30})
    lab.trains(job, 300)
    with lab.frozen(postgres(lab), 10):
        pass
    job = lab.ended(job, 90)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert len(lab.points(job, "train/loss")) == 30 * 8, "every point is stored, also those of the outage"


def test_the_broker_restarted_empty_changes_nothing(lab: Lab) -> None:
    job = lab.submit("broker-lost", args=SLOW, stop={"epochs": 20})
    lab.trains(job, 200)
    lab.program("valkey-server", "redis-live").kill()
    job = lab.ended(job, 60)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert lab.ended(lab.submit("after-the-broker")).status == "succeeded"


def test_a_plane_that_came_back_empty_makes_a_new_attempt_that_is_not_charged(lab: Lab) -> None:
    job = lab.submit("plane-lost", args=SLOW, stop={"epochs": 60}, snapshot={"every": 0.5})
    eventually(lambda: "cut 1 " in lab.messages(job) or None, "the first cut", 20)
    lab.program("valkey-server", "redis-plane").kill()
    job = lab.ended(job, 90)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 0)
    assert job.progress.samples == job.progress.total_samples


def test_a_restarted_api_and_controller_go_on_with_the_jobs_that_run(lab: Lab) -> None:
    job = lab.submit("control-plane-restarts", args=SLOW, stop={"epochs": 30})
    lab.trains(job, 200)
    lab.program("backend", "controller").kill()
    lab.program("backend", "api").kill()
    began = time.monotonic()
    job = lab.ended(job, 90)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert time.monotonic() - began < 60


def postgres(lab: Lab) -> psutil.Process:
    return lab.program("postgres", "-D")
