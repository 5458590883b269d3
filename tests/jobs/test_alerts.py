"""A job says by itself that something is wrong with its training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.test_by_hand import gradstream
from tests.platforms import Lab
from tests.support import eventually


@pytest.mark.more
def test_a_worker_behind_the_quorum_is_told_of_while_the_job_runs(lab: Lab, tmp_path: Path) -> None:
    """One of three workers takes some hundred times as long: the quorum of two never waits for it."""
    job = lab.submit(
        "starved",
        strategy={"name": "sync", "lr": 0.01},
        gate={"mode": "bsp", "quorum": 2},
        batch_size=8,
        args={"straggler": str(tmp_path / "straggler"), "pause": 0.002},
        stop={"epochs": 5000},
        roles={"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}},
    )
    eventually(lambda: lab.client.job(job.id).progress.alerts, "an alert")
    job = lab.ended(lab.client.stop(job.id))
    [alert] = job.progress.alerts
    ledger = lab.ledger(job)
    [starved] = [rank for rank in range(3) if not ledger.get(("applied", rank), 0)]
    assert alert.startswith(f"Worker {starved} did not contribute"), "the job has ended"
    assert "In the next run, raise gate.quorum" in alert
    shown = gradstream(lab, "show", str(job.id))
    assert f"Worker {starved} did not contribute" in " ".join(shown.split())
    [event] = [event for event in lab.client.events(job.id) if event.kind == "warning"]
    assert event.message.startswith(f"Worker {starved} does not contribute")
    assert event.data["rank"] == starved
