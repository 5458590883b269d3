"""One process of a real job, restarted and stopped by itself."""

from __future__ import annotations

from collections.abc import Callable

from gradstream.client import Client, Job
from tests.integration.cli.shared import FOREVER, Gradstream
from tests.support import JOB_TIMEOUT, eventually


def test_a_worker_is_restarted_another_stopped_and_the_job_goes_on(
    gradstream: Gradstream, client: Client, submit: Callable[..., Job]
) -> None:
    job = submit(FOREVER, "name=by-hand", "roles.worker.count=2", "strategy={name: async, lr: 0.01}")
    eventually(lambda: client.job(job.id).status == "running", "the job runs")
    done = gradstream("restart", "by-hand", "worker-0")
    assert done.returncode == 0, done.stderr
    assert "its next incarnation starts from the center" in done.stderr
    eventually(lambda: _incarnations(client, job, "worker-0")[-1] == (1, "running", None), "the next incarnation")
    assert (0, "exited", "restarted") in _incarnations(client, job, "worker-0")

    done = gradstream("stop", "by-hand", "--process", "worker-1")
    assert done.returncode == 0, done.stderr
    eventually(lambda: _incarnations(client, job, "worker-1") == [(0, "exited", "stopped")], "worker-1 leaves")
    assert client.job(job.id).status == "running"
    assert client.job(job.id).retries_used == 0

    assert gradstream("stop", "by-hand", "--process", "server-0").returncode == 1
    assert gradstream("restart", "by-hand", "worker-1").returncode == 4, "it has ended"
    refused = gradstream("restart", "by-hand", "server-0")
    assert refused.returncode == 1, "nobody says yes"
    assert "All processes end" in refused.stderr
    assert client.job(job.id).attempt == 1
    client.stop(job.id)
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "cancelled"


def _incarnations(client: Client, job: Job, label: str) -> list[tuple[int, str, str | None]]:
    found = [process for process in client.processes(job.id) if process.label == label]
    return sorted((process.incarnation, process.status, process.reason) for process in found)
