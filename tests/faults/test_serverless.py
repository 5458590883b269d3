"""A job without servers on the platform, undisturbed and when a worker is killed."""

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from gradstream.client import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

PAUSE = 0.5
"""Seconds of a mini-batch until `go` is there."""
EPOCHS = 12
FIELDS = {
    "strategy": {"name": "sync", "lr": 0.05},
    "optimizer": {"name": "sgd", "momentum": 0.9},
    "checkpoint": {"every": "2 epochs"},
    "stop": {"epochs": EPOCHS},
}
NO_SERVERS = {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 0}}


GOES_ON = {
    "strategy": {"name": "sync", "lr": 0.05},
    "optimizer": {"name": "adam"},
    "roles": NO_SERVERS,
    "on_worker_loss": "continue",
    "checkpoint": {"every": "2 epochs"},
    "stop": {"epochs": EPOCHS},
}


BY_GLOO = {**NO_SERVERS, "server": {"count": 0, "collective": "gloo"}}
WAYS = pytest.mark.parametrize("roles", [NO_SERVERS, BY_GLOO], ids=["shared", "gloo"])


@pytest.mark.more
@WAYS
def test_the_others_go_on_when_a_worker_is_killed(roles: dict[str, Any], lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = lab.submit("goes-on", args=slow_until(go, PAUSE), **(GOES_ON | {"roles": roles}))
    lab.trains(job, 300)
    survivor = lab.pids("worker-0")
    for _ in range(2):
        [killed] = lab.pids("worker-1")
        lab.kill("worker-1")
        eventually(lambda old=killed: set(lab.pids("worker-1")) - {old}, "the next incarnation")
        lab.trains(job, lab.client.job(job.id).progress.samples + 200)
    assert lab.process(job, "worker-1").incarnation == 2
    assert lab.pids("worker-0") == survivor, "worker 0 has gone on"
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 1, 2)
    assert "the others continue" in lab.messages(job)
    assert job.progress.samples == job.progress.total_samples, "each incarnation began behind the last push of its rank"
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] == 4 * EPOCHS
    assert job.shards == len(job.progress.shards) == 1, "worker 0 holds it"
    assert job.progress.eval, "the evaluator is served by worker 0"
    _check_nothing_is_left(lab, job)


@pytest.mark.more
@WAYS
def test_a_worker_may_be_killed_before_it_has_joined(roles: dict[str, Any], lab: Lab, tmp_path: Path) -> None:
    go, killed = tmp_path / "go", set[int]()
    job = lab.submit("dies-early", args=slow_until(go, PAUSE), retries=4, **(GOES_ON | {"roles": roles}))
    for _ in range(4):
        [pid] = eventually(lambda: set(lab.pids("worker-1")) - killed, "the next incarnation")
        os.kill(pid, signal.SIGKILL)
        killed.add(pid)
    lab.trains(job, 200)
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert job.progress.samples == job.progress.total_samples
    _check_nothing_is_left(lab, job)


@pytest.mark.more
def test_workers_over_gloo_meet_when_redis_and_a_frozen_worker_go_on(lab: Lab, tmp_path: Path) -> None:
    """One worker is killed while another one is frozen, and the data plane's Redis is away when the survivors would meet."""
    go, roles = tmp_path / "go", BY_GLOO | {"worker": {"count": 3, "device": "cpu"}}
    job = lab.submit("meets-late", args=slow_until(go, PAUSE), **(GOES_ON | {"roles": roles}))
    lab.trains(job, 300)
    [frozen] = lab.pids("worker-2")
    with lab.frozen(psutil.Process(frozen), 3):
        lab.kill("worker-1")
        with lab.frozen(lab.program("valkey-server", "redis-plane"), 3):
            pass
    eventually(lambda: lab.process(job, "worker-1").incarnation == 1 or None, "the next incarnation")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 1, 1)
    assert lab.process(job, "worker-2").incarnation == 0
    ledger = lab.ledger(job)
    for rank in range(3):
        assert ledger["pushed", rank] == ledger["applied", rank] > 0
    assert job.progress.samples == job.progress.total_samples
    _check_nothing_is_left(lab, job)


@pytest.mark.more
def test_the_others_go_on_when_a_group_is_killed(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    groups = {"worker": {"count": 2, "device": "cpu", "group": 2}, "server": {"count": 0}}
    job = lab.submit("group-dies", args=slow_until(go, PAUSE), **(GOES_ON | {"roles": groups}))
    lab.trains(job, 200)
    lab.kill("worker-1")
    eventually(lambda: lab.process(job, "worker-1").incarnation == 1 or None, "the next incarnation")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 1, 1)
    assert job.progress.samples == job.progress.total_samples
    _check_nothing_is_left(lab, job)


@pytest.mark.more
@WAYS
def test_a_killed_holder_costs_an_attempt(roles: dict[str, Any], lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = lab.submit("holder-dies", args=slow_until(go, PAUSE), **(GOES_ON | {"roles": roles}))
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    lab.kill("worker-0")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    assert " the model, so the others cannot go on without it." in lab.messages(job)
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] == 4 * EPOCHS
    _check_nothing_is_left(lab, job)


def _check_nothing_is_left(lab: Lab, job: Job) -> None:
    eventually(lambda: not (lab.pids("worker-0") + lab.pids("worker-1")), "no process of the job is left")
    folders = [path for path in Path("/dev/shm").glob(f"gradstream-*/{job.id.hex}*")]
    eventually(lambda: not any(folder.exists() for folder in folders), "no shared memory of the job is left")


@pytest.mark.more
def test_workers_that_combine_pushes_by_gloo_end_with_the_one_that_is_killed(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = lab.submit("by-gloo", args=slow_until(go, PAUSE), roles=BY_GLOO, **FIELDS)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    lab.kill("worker-0")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used, job.shards) == ("succeeded", 2, 1, 1)
    assert job.progress.eval, "the evaluator is served by worker 0"
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] == 4 * EPOCHS
    _check_nothing_is_left(lab, job)


@pytest.mark.more
def test_a_killed_worker_costs_an_attempt_and_no_bit(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with_servers = lab.ended(lab.submit("with-servers", **FIELDS))
    job = lab.submit("without-servers", args=slow_until(go, PAUSE), roles=NO_SERVERS, **FIELDS)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    survivor = lab.pids("worker-0")
    lab.kill("worker-1")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    assert {process.role for process in lab.client.processes(job.id)} == {"worker", "evaluator"}
    attempts = {a["number"]: a for a in lab.client._transport.json("GET", f"jobs/{job.id}/attempts")["items"]}
    assert attempts[2]["resumed_from"]["attempt"] == 1
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] == 4 * EPOCHS, "the ledger goes on where the checkpoint was"
    assert job.shards == len(job.progress.shards) == 2, "the workers hold them"
    one, other = lab.weights(with_servers, tmp_path), lab.weights(job, tmp_path)
    assert all(torch.equal(other[name], value) for name, value in one.items())
    assert not set(survivor) & set(lab.pids("worker-0")), "the worker that was left has ended, too"
    folders = [path for path in Path("/dev/shm").glob(f"gradstream-*/{job.id.hex}*")]
    eventually(lambda: not any(folder.exists() for folder in folders), "no shared memory of the job is left")


@pytest.mark.more
@WAYS
def test_a_frozen_worker_is_named_until_it_goes_on(roles: dict[str, Any], lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = lab.submit("freezes", args=slow_until(go, PAUSE), **(FIELDS | {"roles": roles}))
    lab.trains(job, 100)
    frozen = psutil.Process(lab.pids("worker-1")[0])
    frozen.suspend()
    try:
        eventually(lambda: "All others wait for worker-1" in " ".join(lab.client.job(job.id).progress.alerts), "the alert")
    finally:
        frozen.resume()
    eventually(lambda: "worker-1 goes on, and the others with it." in lab.messages(job), "its end")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
