"""One worker of a job is stopped by hand, and the job comes to its end without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms import Lab, slow_until
from tests.support import eventually

EPOCHS = 60


@pytest.mark.more
def test_a_job_succeeds_without_the_worker_that_was_stopped(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = lab.submit("short-handed", args=slow_until(go, pause=0.5), stop={"epochs": EPOCHS})
    lab.trains(job, 100)
    said = gradstream(lab, "stop", "short-handed", "--process", "worker-1")
    assert "worker-1 finishes its round and leaves" in said
    eventually(lambda: [p.reason for p in lab.client.processes(job.id) if p.label == "worker-1"] == ["stopped"], "it leaves")
    go.touch()

    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 1, 0)
    assert set(lab.weights(job, tmp_path)) == {"weight", "bias"}
    ends = {(p.label, p.incarnation, p.reason) for p in lab.client.processes(job.id) if p.label.startswith("worker")}
    assert ends == {("worker-0", 0, "done"), ("worker-1", 0, "stopped")}

    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] + ledger["deferred", rank] + ledger["dropped", rank] > 0
        assert ledger["pending", rank] == ledger.get(("rolled_back", rank), 0) == 0
    assert ledger["pushed", 0] > ledger["pushed", 1], "the rest of its share is left out"
    assert EPOCHS * 256 / 2 <= job.progress.samples < EPOCHS * 256

    events = lab.client.events(job.id)
    [asked] = [event for event in events if " stops worker-1" in event.message]
    assert asked.actor.startswith("user:")
    [left] = [event for event in events if event.data.get("reason") == "stopped"]
    assert (left.data["label"], left.message) == ("worker-1", "worker-1 exited, stopped: left because the job stops it")
    shown = gradstream(lab, "show", "short-handed")
    assert "succeeded" in shown
    assert any("worker-1" in line and "stopped" in line for line in shown.splitlines())


def gradstream(lab: Lab, *arguments: str, code: int = 0) -> str:
    """Return the output of a command that ends with this code."""
    command = [sys.executable, "-c", "from gradstream.cli.main import app; app()", *arguments]
    environment = {**os.environ, "GRADSTREAM_DATA_DIR": str(lab.platform.folder.path), "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr
