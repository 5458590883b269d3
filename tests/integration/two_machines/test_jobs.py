"""Jobs on two machines: spread, moved, and with one of them killed."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from benchmarks.network import SERVER
from tests.integration.two_machines.machines import SECOND, Machines, is_alive
from tests.support import TIMEOUT, eventually

pytestmark = pytest.mark.xdist_group("two_machines")  # each process that runs some of these tests starts machines of its own
PLANE_PORT = 8002


@pytest.mark.more
def test_a_job_spreads_over_both_machines_and_trains(machines: Machines, go: Path) -> None:
    job = machines.submit("spread", go, workers=3)
    machines.wait_for_places(job, {machines.first: ["server", "worker", "worker"], SECOND: ["server", "worker"]})
    plane = f"{SERVER}:{PLANE_PORT}"
    with machines.hosts.workers():
        eventually(lambda: _connections().count(plane) >= 2, "its processes reach the data plane over the line")
    assert plane not in _connections(), "the first machine's own processes keep to the socket"
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.progress.samples) == ("succeeded", 1, job.progress.total_samples)


@pytest.mark.more
def test_a_killed_machine_is_lost_its_job_goes_on_elsewhere_and_it_joins_again(machines: Machines, go: Path) -> None:
    short = machines.submit("short", go.with_name("short"), workers=1)
    machines.wait_for_places(short, {machines.first: ["server", "server", "worker"]})
    job = machines.submit("long", go, workers=2)
    machines.wait_for_places(job, {machines.first: ["server", "worker"], SECOND: ["server", "worker"]})
    assert machines.ended(short, go.with_name("short")).status == "succeeded"
    machines.wait_for_checkpoint(job)
    assert machines.joined
    [agent] = psutil.Process(machines.joined.pid).children()
    family = [agent, *agent.children(recursive=True)]
    for program in (machines.joined, agent):
        program.kill()
    eventually(lambda: not any(is_alive(process) for process in family), "the end of its processes")
    eventually(lambda: machines.node(SECOND).status == "lost", "the loss of the second machine")
    machines.wait_for_places(job, {machines.first: ["server", "server", "worker", "worker"]}, attempt=2)
    machines.join()
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 0)
    assert job.progress.samples == job.progress.total_samples
    assert f" of attempt 1, on {machines.first}." in machines.messages(job), "from a checkpoint"


@pytest.mark.more
def test_a_drained_machine_gets_no_job_and_one_that_leaves_hands_its_jobs_on(machines: Machines, go: Path) -> None:
    machines.client.drain(machines.first)
    job = machines.submit("moved", go, workers=1)
    roles = ["server", "server", "worker"]
    machines.wait_for_places(job, {SECOND: roles})
    machines.client.resume(machines.first)
    machines.wait_for_checkpoint(job)
    assert machines.joined
    machines.joined.send_signal(signal.SIGINT)
    assert machines.joined.wait(TIMEOUT) == 0
    machines.wait_for_places(job, {machines.first: roles}, attempt=2)
    job = machines.ended(job, go)
    assert (job.status, job.retries_used) == ("succeeded", 0)
    assert f" of attempt 1, on {machines.first}." in machines.messages(job), "from a checkpoint"


BSP: dict[str, Any] = {"gate": "bsp", "optimizer": {"name": "adam"}, "strategy": {"name": "adag", "lr": 0.02}}


@pytest.mark.more
def test_workers_without_servers_train_on_both_machines_and_one_is_killed(machines: Machines, go: Path, tmp_path: Path) -> None:
    job = machines.submit("by-gloo", go, workers=3, servers=0, **BSP)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"], SECOND: ["worker"]})
    machines.wait_for_checkpoint(job)
    machines.kill_worker(2)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"], SECOND: ["worker"]}, attempt=2)
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used, job.shards) == ("succeeded", 2, 1, 1)
    assert job.progress.samples == job.progress.total_samples
    said = machines.messages(job)
    assert "They combine pushes by gloo." in said
    assert "killed by signal 9" in said
    assert "the connection to another worker broke" not in said, "the others wait for the cause"
    with_servers = machines.ended(machines.submit("by-servers", go, workers=3, servers=1, **BSP), go)
    one, other = machines.weights(job, tmp_path), machines.weights(with_servers, tmp_path)
    for name, values in one.items():
        torch.testing.assert_close(other[name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.more
def test_workers_without_servers_on_both_machines_go_on_when_one_is_killed(machines: Machines, go: Path) -> None:
    job = machines.submit("goes-on", go, workers=3, servers=0, on_worker_loss="continue", **BSP)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"], SECOND: ["worker"]})
    machines.wait_for_checkpoint(job)
    survivors = machines.running("worker-0") + machines.running("worker-1")
    killed = machines.running("worker-2")
    machines.kill_worker(2)
    machines.eventually(job, lambda: machines.running("worker-2") not in (killed, []), "the next incarnation")
    machines.wait_for_places(job, {machines.first: ["worker", "worker"], SECOND: ["worker"]})
    assert machines.running("worker-0") + machines.running("worker-1") == survivors
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used, job.shards) == ("succeeded", 1, 1, 1)
    assert job.progress.samples == job.progress.total_samples, "each incarnation began behind the last push of its rank"
    said = machines.messages(job)
    assert "They combine pushes by gloo." in said
    assert "the others continue" in said


@pytest.mark.more
def test_workers_without_servers_move_from_shared_memory_to_gloo(machines: Machines, go: Path) -> None:
    machines.client.drain(SECOND)
    job = machines.submit("moves", go, workers=2, servers=0, **BSP)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"]})
    assert machines.client.job(job.id).shards == 2, "each worker holds a shard, in shared memory"
    machines.wait_for_checkpoint(job)
    first_in_line = machines.submit("first-in-line", go, workers=1, priority=90)
    machines.kill_worker(1)
    machines.wait_for_places(first_in_line, {machines.first: ["server", "server", "worker"]})
    machines.client.resume(SECOND)
    machines.wait_for_places(job, {machines.first: ["worker"], SECOND: ["worker"]}, attempt=2)
    assert machines.client.job(job.id).shards == 1, "each worker holds the whole model"
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    assert job.progress.samples == job.progress.total_samples
    assert " of attempt 1, on " in machines.messages(job), "from a checkpoint"


def _connections() -> list[str]:
    """Where the open TCP connections of this thread's network lead."""
    rows = [line.split() for line in Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]]
    return [_address(remote) for _, _, remote, state, *_ in rows if state == "01"]


def _address(hexadecimal: str) -> str:
    host, port = hexadecimal.split(":")
    return f"{socket.inet_ntoa(bytes.fromhex(host)[::-1])}:{int(port, 16)}"
