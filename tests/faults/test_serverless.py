"""A job without servers on the platform, undisturbed and when a worker is killed."""

from pathlib import Path

import torch

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
