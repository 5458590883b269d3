"""Workers that are groups, on the platform: undisturbed, and when one of their processes is killed."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from gradstream import metrics
from gradstream.api.jobs import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

PAUSE = 0.5
"""Seconds of a mini-batch until `go` is there."""
EPOCHS = 12
FIELDS: dict[str, Any] = {
    "strategy": {"name": "sync", "lr": 0.05},
    "optimizer": {"name": "sgd", "momentum": 0.9},
    "checkpoint": {"every": "2 epochs"},
    "stop": {"epochs": EPOCHS},
}


WINDOWED: dict[str, Any] = {**FIELDS, "strategy": {"name": "local_sgd", "lr": 0.005, "window": 2}, "optimizer": {"name": "adam"}}
"""Workers step by an optimizer with a state, which the peers of fsdp share out."""
DEEP = {"entrypoint": "deep:Deep"}
"""The workload that has blocks."""
STATISTICS = {"3.running_mean", "3.running_var", "3.num_batches_tracked"}
"""Buffers of the BatchNorm layer."""


def roles(servers: int = 2, peers: int = 2, axis: str = "replicate") -> dict[str, Any]:
    return of_shape({axis: peers}, servers)


def of_shape(group: dict[str, int], servers: int = 2) -> dict[str, Any]:
    return {"worker": {"count": 2, "device": "cpu", "group": group}, "server": {"count": servers}}


@pytest.mark.more
@pytest.mark.parametrize(
    ("servers", "axis"),
    [(2, "replicate"), (0, "replicate"), (2, "fsdp"), pytest.param(0, "fsdp", marks=pytest.mark.long)],
    ids=str,
)
def test_a_group_has_the_bits_of_one_process_in_two_parts(servers: int, axis: str, lab: Lab, tmp_path: Path) -> None:
    fields = {**FIELDS, "stop": {"epochs": 4}, "args": {"pause": 0.02}}  # long enough to be seen beside the waits of a busy machine
    parts = lab.ended(lab.submit("parts", accumulate=2, **fields))
    group = lab.ended(lab.submit("group", roles=roles(servers, axis=axis), **fields))
    assert (group.status, group.attempt) == ("succeeded", 1), group.message
    one, other = lab.weights(parts, tmp_path), lab.weights(group, tmp_path)
    assert all(torch.equal(other[name], value) for name, value in one.items())
    waits = lab.points(group, metrics.PEER_WAIT.name)
    assert {point.rank for point in waits} == {0, 1}
    assert all(point.value >= 0 for point in waits)
    shares, held = lab.points(group, metrics.PEER_COMPUTE.name), lab.points(group, metrics.PEER_MEMORY.name)
    assert len(shares) == len(held) >= 4, "both processes of both workers"
    assert all(0 < point.value <= 1 for point in shares)
    assert all(point.value > 2**20 for point in held)
    eventually(lambda: not lab.pids("worker-0/1"), "the end of the peers")


@pytest.mark.more
@pytest.mark.parametrize("group", [{"stages": 3}, {"fsdp": 2, "stages": 2}], ids=str)
def test_stages_have_the_bits_of_one_process(group: dict[str, int], lab: Lab, tmp_path: Path) -> None:
    fields = {**WINDOWED, "stop": {"epochs": 4}, "workload": DEEP}
    one = lab.ended(lab.submit("one", accumulate=4, **fields))
    staged = lab.ended(lab.submit("staged", accumulate=4 // group.get("fsdp", 1), roles=of_shape(group), **fields))
    assert (staged.status, staged.attempt) == ("succeeded", 1), staged.message
    weights, other = lab.weights(one, tmp_path), lab.weights(staged, tmp_path)
    if "fsdp" in group:  # each pipeline has statistics of its own parts, of which these are the mean
        weights = {name: value for name, value in weights.items() if name not in STATISTICS}
    assert len(weights) >= 8
    assert all(torch.equal(other[name], value) for name, value in weights.items())


@pytest.mark.parametrize(
    "group",
    [
        pytest.param({"tensor": 3}, marks=pytest.mark.more),
        pytest.param({"stages": 2, "tensor": 2}, marks=pytest.mark.long),
        pytest.param({"fsdp": 2, "stages": 2, "tensor": 2}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_tensor_group_learns_what_one_process_learns_and_outlives_a_killed_peer(
    group: dict[str, int], lab: Lab, tmp_path: Path
) -> None:
    """It begins again from a checkpoint, and the numbers differ by the rounding of sums alone."""
    go = tmp_path / "go"
    fields = {**FIELDS, "accumulate": group.get("stages", 1)}
    one = lab.ended(lab.submit("one", workload=DEEP, **{**fields, "accumulate": fields["accumulate"] * group.get("fsdp", 1)}))
    job = lab.submit("split", workload={**DEEP, "args": slow_until(go, PAUSE)}, roles=of_shape(group), **fields)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    peers = lab.pids("worker-1/1") + lab.pids("worker-1/2")
    lab.kill("worker-1/2")
    eventually(lambda: not any(psutil.pid_exists(pid) for pid in peers), "the end of all of its group")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    _check_reason(lab, job, "worker-1/2")
    weights, other = lab.weights(one, tmp_path), lab.weights(job, tmp_path)
    for name, value in weights.items():
        if "fsdp" not in group or name not in STATISTICS:  # else they are the mean of those of the pipelines
            torch.testing.assert_close(other[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("victim", "group"),
    [
        pytest.param("worker-1/1", {"replicate": 3}, marks=pytest.mark.more),
        pytest.param("worker-1/2", {"replicate": 3}, marks=pytest.mark.long),
        pytest.param("worker-1", {"replicate": 3}, marks=pytest.mark.more),
        pytest.param("worker-1/1", {"fsdp": 3}, marks=pytest.mark.long),
        pytest.param("worker-1/2", {"fsdp": 3}, marks=pytest.mark.more),
        pytest.param("worker-1", {"fsdp": 3}, marks=pytest.mark.long),
        pytest.param("worker-1/1", {"fsdp": 2, "stages": 2}, marks=pytest.mark.more),
        pytest.param("worker-1/2", {"fsdp": 2, "stages": 2}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_killed_process_of_a_group_ends_the_group_and_costs_no_bit(
    victim: str, group: dict[str, int], lab: Lab, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    fields = WINDOWED if "fsdp" in group else FIELDS
    if "stages" in group:
        fields = {**fields, "workload": DEEP, "accumulate": group["stages"]}
    calm = lab.ended(lab.submit("calm", roles=of_shape(group), **fields))
    workload = {"entrypoint": "steady:Steady", **fields.get("workload", {}), "args": slow_until(go, PAUSE)}
    job = lab.submit("disturbed", roles=of_shape(group), **{**fields, "workload": workload})
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    peers = lab.pids("worker-1/1") + lab.pids("worker-1/2")
    lab.kill(victim)
    eventually(lambda: not any(psutil.pid_exists(pid) for pid in peers), "the end of all of its group")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    _check_reason(lab, job, victim)
    one, other = lab.weights(calm, tmp_path), lab.weights(job, tmp_path)
    averaged = STATISTICS if "stages" in group else set[str]()  # pipelines go on with the mean of their statistics
    assert all(torch.equal(other[name], value) for name, value in one.items() if name not in averaged)
    for name in averaged:
        torch.testing.assert_close(other[name], one[name])


@pytest.mark.more
def test_a_group_is_respawned_where_the_others_go_on(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    fields = {"strategy": {"name": "async", "lr": 0.02}, "stop": {"epochs": EPOCHS}}
    job = lab.submit("goes-on", args=slow_until(go, PAUSE), roles=roles(), **fields)
    lab.trains(job, 300)
    [pid] = lab.pids("worker-1/1")
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: lab.process(job, "worker-1").incarnation == 1, "a second incarnation")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert job.progress.samples == job.progress.total_samples, "its next incarnation began behind its last push"
    _check_reason(lab, job, "worker-1/1")


def test_an_error_of_user_code_fails_the_job_with_its_place(lab: Lab) -> None:
    job = lab.ended(lab.submit("breaks", args={"breaks": "loss"}, retries=0, roles=roles(), **FIELDS))
    assert (job.status, job.reason) == ("failed", "user_error")
    assert "broken in loss" in (job.message or "")


@pytest.mark.more
def test_a_peer_that_hangs_is_named_with_its_line_and_what_it_wrote_with_its_number(lab: Lab) -> None:
    """It hangs in its third mini-batch. What it writes past Python is in the log of the worker."""
    worker = {"count": 1, "device": "cpu", "group": 2, "step_timeout": 2}
    args = {"breaks": "peer hangs"}
    job = lab.ended(lab.submit("hangs", args=args, retries=0, **{**FIELDS, "roles": {"worker": worker, "server": {"count": 1}}}))
    assert job.status == "failed"
    [process] = [each for each in lab.client.processes(job.id) if each.label == "worker-0"]
    assert process.reason == "hung"
    assert re.match(r"peer 1 of worker-0: user code ran for 2 s at steady.py:\d+ without a step", process.message or "")
    lines = "".join(chunk.text for chunk in lab.client.logs(job.id)).splitlines()
    assert "[peer 1] written by C" in lines
    assert any(line.startswith("[peer 1] No step for ") for line in lines)


def _check_reason(lab: Lab, job: Job, victim: str) -> None:
    label, _, peer = victim.partition("/")
    first = next(p for p in lab.client.processes(job.id) if p.label == label and (p.attempt, p.incarnation) == (1, 0))
    told = (f"peer {peer} of worker-1 has ended (killed by signal 9), and with it the whole worker", "peer_lost")
    assert (first.message, first.reason) == (told if peer else ("killed by signal 9", "killed"))
