"""Failures of workers, shards and the agent, and their price."""

from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from gradstream.api.jobs import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

PAUSE = 0.5
"""Seconds of a mini-batch until `go` is there: long enough for few of them to outlast what happens to the job meanwhile."""
EPOCHS = 12
"""Each worker has four mini-batches: 24 s with pauses, and a moment without."""


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """A file: jobs that wait for it are slow until it is there, so that what is killed meanwhile is killed in time."""
    return tmp_path / "go"


def test_a_lost_worker_is_respawned_and_the_job_goes_on(lab: Lab, go: Path) -> None:
    job = lab.submit("worker-dies", args=slow_until(go, PAUSE), strategy={"name": "async", "lr": 0.02}, stop={"epochs": EPOCHS})
    lab.trains(job, 300)
    lab.kill("worker-1")
    eventually(lambda: lab.process(job, "worker-1").incarnation == 1, "a second incarnation")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    first = next(p for p in lab.client.processes(job.id) if p.label == "worker-1" and p.incarnation == 0)
    assert (first.status, first.reason) == ("exited", "killed")
    assert job.progress.samples == job.progress.total_samples, "its next incarnation began behind its last push"


@pytest.mark.few(1)
@pytest.mark.parametrize("victim", ["worker-1", "server-1"])
def test_under_bsp_the_model_is_that_of_the_undisturbed_run_bit_for_bit(victim: str, lab: Lab, go: Path, tmp_path: Path) -> None:
    fields = {
        "strategy": {"name": "sync", "lr": 0.05},
        "optimizer": {"name": "sgd", "momentum": 0.9},
        "checkpoint": {"every": "2 epochs"},
        "stop": {"epochs": EPOCHS},
    }
    calm = lab.ended(lab.submit("calm", **fields))
    job = lab.submit("disturbed", args=slow_until(go, PAUSE), **fields)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    lab.kill(victim)
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    attempts = {a["number"]: a for a in lab.client._transport.json("GET", f"jobs/{job.id}/attempts")["items"]}
    assert attempts[2]["resumed_from"]["attempt"] == 1
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] == 4 * EPOCHS, "the ledger goes on where the checkpoint was"
        assert ledger["rolled_back", rank] > 0, "and what was done since is shown as rolled back"
    assert "pushes are rolled back: all since checkpoint" in lab.messages(job)
    expected, got = lab.weights(calm, tmp_path), lab.weights(job, tmp_path)
    assert all(torch.equal(got[name], expected[name]) for name in expected)


def test_without_retries_a_lost_shard_fails_the_job_with_reason_and_log(lab: Lab, go: Path) -> None:
    job = lab.submit("no-retries", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS}, retries=0)
    lab.trains(job, 200)
    lab.kill("server-0")
    job = lab.ended(job)
    assert (job.status, job.reason) == ("failed", "killed")
    assert "server-0" in (job.message or "")
    assert "signal 9" in (job.message or "")


@pytest.mark.more
def test_a_dead_evaluator_is_replaced(lab: Lab, go: Path) -> None:
    job = lab.submit("evaluator-dies", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS})
    lab.trains(job, 200)
    lab.kill("evaluator")
    eventually(lambda: lab.process(job, "evaluator").incarnation == 1, "a second incarnation")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert lab.process(job, "evaluator").incarnation == 1


@pytest.mark.more
def test_a_killed_agent_takes_its_processes_along_and_the_job_resumes(lab: Lab, go: Path) -> None:
    job = lab.submit("agent-dies", args=slow_until(go, PAUSE), stop={"epochs": EPOCHS}, checkpoint={"every": 0.5})
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    pids = [pid for label in ("worker-0", "worker-1", "server-0", "server-1") for pid in lab.pids(label)]
    assert len(pids) == 4
    lab.program("worker_agent").kill()
    eventually(lambda: not any(alive(pid) for pid in pids), "the end of its processes")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "a new attempt")
    go.touch()
    job = lab.ended(job)
    assert job.status == "succeeded"
    assert job.retries_used == 0, "a lost node is not the user's fault"


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.more
def test_evaluations_by_samples_are_those_of_the_undisturbed_run(lab: Lab, go: Path, tmp_path: Path) -> None:
    """Each falls on the same center, whoever was killed meanwhile; so the best model is the same one, too."""
    fields = {
        "strategy": {"name": "sync", "lr": 0.05},
        "evaluate": {"every": "640 samples"},
        "checkpoint": {"every": "1024 samples"},
        "best": {"metric": "eval/loss"},
        "stop": {"epochs": 20},
    }
    calm = lab.ended(lab.submit("evaluated-calm", **fields))
    job = lab.submit("evaluated-disturbed", args=slow_until(go, 0.3), **fields)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.kill("evaluator")
    eventually(lambda: lab.process(job, "evaluator").incarnation == 1, "another evaluator")
    lab.trains(job, 2000)
    lab.kill("server-0")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "a new attempt")
    go.touch()
    job = lab.ended(job)
    assert (calm.status, job.status, job.attempt) == ("succeeded", "succeeded", 2)
    expected, got = scores(lab, calm), scores(lab, job)
    assert sorted(expected) == [*range(0, calm.progress.samples, 640), calm.progress.samples]
    assert got == expected
    files = [{one.name: one for one in lab.client.artifacts(found.id)}["best.safetensors"] for found in (calm, job)]
    assert files[0].note == files[1].note
    best = min(expected, key=lambda samples: (expected[samples], samples))
    assert files[0].note == f"eval/loss {expected[best]:.6g} at {best:,} samples"
    weights = [load_file(lab.client.download(found, "best.safetensors", into=tmp_path / found.name)) for found in (calm, job)]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert f"The best evaluation was eval/loss {expected[best]:.6g}" in (job.message or "")


def scores(lab: Lab, job: Job) -> dict[int, float]:
    """eval/loss by samples. One that was repeated after a resume has given the same value."""
    found: dict[int, float] = {}
    for point in lab.points(job, "eval/loss"):
        assert found.setdefault(point.samples, point.value) == point.value, point
    return found
