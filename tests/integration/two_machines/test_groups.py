"""Workers whose groups are on two machines: they train what groups on one machine train, and end and begin again as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.integration.two_machines.machines import SECOND, Machines, is_alive
from tests.support import TIMEOUT, eventually

pytestmark = pytest.mark.xdist_group("two_machines")  # each process that runs some of these tests starts machines of its own
SYNC: dict[str, Any] = {"strategy": {"name": "sync", "lr": 0.05}, "stop": {"epochs": 12}, "batch_size": 32}
SPREAD = {"replicate": 2, "fsdp": 2, "machines": 2}
"""Peers 0 and 1 are on the first machine, and 2 and 3 on the second."""
THERE = ("peers-0", "worker-0/3")
"""Labels of the processes on the second one."""


@pytest.mark.more
@pytest.mark.parametrize(
    "victim",
    ["worker-0/3", "worker-0", "peers-0"],
)
def test_a_group_on_two_machines_has_the_bits_of_one_machine_also_if_a_process_is_killed(
    victim: str, machines: Machines, go: Path, tmp_path: Path
) -> None:
    job = machines.submit("spread-group", go, workers=1, servers=1, group=SPREAD, **SYNC)
    machines.wait_for_places(job, {machines.first: ["server", "worker"], SECOND: ["peers"]})
    machines.wait_for_checkpoint(job)
    shown = eventually(lambda: machines.client.groups(job.id), "its processes on the page")
    assert [peer.node for peer in shown[0].peers] == [machines.first, machines.first, SECOND, SECOND]
    family = [each for label in ("worker-0", "worker-0/1", "peers-0", "worker-0/3") for each in machines.running(label)]
    assert len(family) == 4
    [killed] = machines.running(victim)
    killed.kill()
    eventually(lambda: not any(each.is_running() for each in family), "the end of its whole group")
    machines.wait_for_attempt(job, 2)
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1), job.message
    assert job.progress.samples == job.progress.total_samples
    assert "killed by signal 9" in machines.messages(job)
    one = machines.ended(machines.submit("one-machine", go, workers=1, servers=1, group={"replicate": 2, "fsdp": 2}, **SYNC), go)
    weights, expected = machines.weights(job, tmp_path), machines.weights(one, tmp_path)
    for name, values in expected.items():
        assert torch.equal(weights[name], values), name


@pytest.mark.more
def test_where_others_go_on_a_lost_group_is_respawned_on_both_machines(machines: Machines, go: Path) -> None:
    group = {"replicate": 2, "machines": 2}
    fields = {**SYNC, "strategy": {"name": "async", "lr": 0.02}}
    job = machines.submit("goes-on", go, workers=1, servers=1, group=group, **fields)
    machines.wait_for_places(job, {machines.first: ["server", "worker"], SECOND: ["peers"]})
    machines.wait_for_checkpoint(job)
    [killed] = machines.running("peers-0")
    killed.kill()
    machines.eventually(job, lambda: "Its group restarts on " in machines.messages(job), "its next incarnation")
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 1, 1), job.message
    assert job.progress.samples == job.progress.total_samples
    incarnations = {
        (each.label, each.incarnation) for each in machines.client.processes(job.id) if each.role in ("worker", "peers")
    }
    assert incarnations == {("worker-0", 0), ("worker-0", 1), ("peers-0", 0), ("peers-0", 1)}


@pytest.mark.more
@pytest.mark.parametrize(("strategy", "attempt"), [("sync", 2), ("async", 1)])
def test_a_machine_that_goes_silent_is_named_and_its_processes_end_by_themselves(
    strategy: str, attempt: int, machines: Machines, go: Path
) -> None:
    """Then there is a new attempt, or the next incarnation of the group, on a machine that can be reached."""
    fields = {**SYNC, "strategy": {"name": strategy, "lr": 0.02}}
    job = machines.submit(f"silent-{strategy}", go, workers=1, servers=1, group=SPREAD, **fields)
    machines.wait_for_places(job, {machines.first: ["server", "worker"], SECOND: ["peers"]})
    machines.wait_for_checkpoint(job)
    here, there = ([*machines.running(one), *machines.running(other)] for one, other in (("worker-0", "worker-0/1"), THERE))
    assert len(here) == len(there) == 2
    with machines.hosts.silent():
        machines.eventually(job, lambda: f"{SECOND} was silent for more than " in machines.messages(job), "the loss of its machine")
        eventually(lambda: not any(is_alive(each) for each in here), "the end of the lead and its peer")
        eventually(lambda: not any(is_alive(each) for each in there), "the end of those out of reach", timeout=2 * TIMEOUT)
    machines.wait_for_attempt(job, attempt)
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", attempt, 0), machines.messages(job)
    assert job.progress.samples == job.progress.total_samples
