"""Replicates that add up their gradients on devices of their own. Here the devices are the CPU, and gloo takes the place of NCCL.
`tests/gpu/test_nccl.py` has GPUs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.group.devices.replicate_sum import adds_on_devices, open_meeting
from gradstream.group.peers import PeerLost
from gradstream.group.problem import GroupProblem
from gradstream.group.step import ReplicateStep
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.spec.roles import WorkerGroup
from gradstream.wire.gpu.vector_group import LONGEST_WAIT
from tests import nets
from tests.nets import CPU
from tests.unit.group.chains import ADAG, SYNC
from tests.unit.group.conftest import GroupProblems, kill_peer
from tests.unit.group.test_devices import MOMENTUM, trained
from tests.unit.group.test_group_laws import in_parts
from tests.unit.group.test_peers import job as doing

NCCL = {"collective": "nccl"}


def job(replicate: int, strategy: dict[str, Any], kind: str = "plain", workers: int = 2, **more: Any) -> JobSpec:
    """`NCCL` goes with GPUs; `copied` puts CPUs in their places."""
    group = {"replicate": replicate, **NCCL, **more.pop("group", {})}
    return nets.job(kind, strategy, roles={"worker": {"count": workers, "group": group, "device": "cuda"}}, **more)


def as_shared(spec: JobSpec) -> JobSpec:
    worker = spec.roles.worker
    group = worker.group.model_copy(update={"collective": "shared"})
    roles = spec.roles.model_copy(update={"worker": worker.model_copy(update={"group": group})})
    return spec.model_copy(update={"roles": roles})


TWO: dict[str, JobSpec] = {
    "sync": job(2, SYNC),
    "a window": job(2, ADAG, "normed", optimizer=MOMENTUM),
    "several dtypes": job(2, SYNC, "mixed"),
    "sparse gradients": job(2, SYNC, "words"),
    "members": job(2, SYNC, members=2),
    "accumulate": job(2, SYNC, accumulate=2),
    "few parts": job(2, SYNC, accumulate=4),
    "fp16": job(2, ADAG, precision="fp16", on_nan="drop"),
}


def is_on_devices(problem: GroupProblem) -> bool:
    return isinstance(problem.process, ReplicateStep)


@pytest.fixture(autouse=True)
def lead(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the workloads of `test_peers`."""
    monkeypatch.setenv("GROUP_TEST_LEAD", str(os.getpid()))


@pytest.mark.few(4)
@pytest.mark.parametrize("name", TWO)
def test_a_sum_of_two_has_the_bits_of_memory_that_they_share(name: str, copied: GroupProblems) -> None:
    found, expected = trained(TWO[name], copied), trained(as_shared(TWO[name]), copied)
    assert torch.equal(found.center, expected.center)
    assert found.losses == expected.losses


@pytest.mark.parametrize("strategy", [SYNC, ADAG], ids=str)
def test_two_have_the_bits_of_two_parts(strategy: dict[str, Any], copied: GroupProblems) -> None:
    group, parts = sim.run(job(2, strategy), copied), sim.run(in_parts(2, strategy), nets.problem)
    assert torch.equal(group.center, parts.center)
    assert group.losses == parts.losses


@pytest.mark.few(1)
@pytest.mark.parametrize(("replicate", "accumulate"), [(3, 1), (4, 1), (8, 1)])
def test_more_differ_by_rounding_alone(replicate: int, accumulate: int, copied: GroupProblems) -> None:
    """The last mini-batch of an epoch has 6 examples. With 8 replicates, two have none of it, and the host adds it up."""
    group = sim.run(job(replicate, SYNC, accumulate=accumulate), copied)
    parts = sim.run(in_parts(replicate * accumulate, SYNC), nets.problem)
    torch.testing.assert_close(group.center, parts.center, rtol=1e-5, atol=1e-6)


@pytest.mark.more
def test_machines_add_up_their_own_replicates_on_devices(spread_copied: GroupProblems) -> None:
    spec = job(4, ADAG, group={"machines": 2})
    assert torch.equal(trained(spec, spread_copied).center, trained(as_shared(spec), spread_copied).center)


def test_a_checkpoint_fits_either_kind(copied: GroupProblems) -> None:
    spec = job(2, ADAG, "normed", optimizer=MOMENTUM)
    first = trained(spec, copied, checkpoints=[2])
    for again in (spec, as_shared(spec)):
        assert torch.equal(trained(again, copied, resume=first.checkpoints[2]).center, first.center)


def test_the_host_has_the_sum_alone(copied: GroupProblems) -> None:
    problem = copied(job(2, SYNC), 0)
    assert is_on_devices(problem)
    problem.gradient(0)
    assert not any(bool(vector.any()) for vector in problem._model.memory.sums), "no process has copied a gradient of its own"


def with_nccl(spec: JobSpec) -> JobSpec:
    whole = spec.model_dump(mode="json")
    worker = whole["roles"]["worker"]
    worker["group"] |= NCCL
    return JobSpec.model_validate(whole | {"roles": whole["roles"] | {"worker": worker | {"device": "cuda"}}})


def test_an_error_of_user_code_is_raised_by_the_lead(copied: GroupProblems) -> None:
    """The lead waits to be connected with a process that never comes to that."""
    problem = copied(with_nccl(doing("raises")), 0)
    assert is_on_devices(problem)
    with pytest.raises(UserError, match=r"the workload failed in loss\(\)") as caught:
        problem.gradient(0)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_process_that_dies_while_it_computes_is_named(copied: GroupProblems) -> None:
    with pytest.raises(PeerLost, match=r"^peer 1 of worker-0 has ended \(killed by signal 9\)"):
        copied(with_nccl(doing("dies")), 0).gradient(0)


def test_a_killed_process_ends_the_group_and_is_named(copied: GroupProblems) -> None:
    problem = copied(job(3, SYNC), 0)
    problem.gradient(0)
    kill_peer("worker-0/2")
    with pytest.raises(PeerLost, match=r"^peer 2 of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(1)


def test_a_process_may_come_to_the_meeting_as_late_as_to_a_sum(tmp_path: Path) -> None:
    assert open_meeting(tmp_path / "meeting", 2).timeout == LONGEST_WAIT


def test_the_meeting_place_goes_with_the_group(copied: GroupProblems, tmp_path: Path) -> None:
    problem = copied(job(2, SYNC), 0)
    problem.gradient(0)
    meeting = problem._model._meeting
    assert meeting is not None
    assert meeting.exists()
    problem.close()
    assert not meeting.exists()


GPUS = [torch.device("cuda", number) for number in range(2)]


@pytest.mark.parametrize(
    ("group", "devices", "share", "expected"),
    [
        ({"replicate": 2}, GPUS, 1, True),
        ({"replicate": 2, **NCCL}, [CPU, CPU], 1, True),
        ({"replicate": 2}, [CPU, CPU], 1, False),
        ({"replicate": 2}, GPUS, 2, False),
        ({"replicate": 2}, [GPUS[0], GPUS[0]], 1, False),
        ({"replicate": 2}, [], 1, False),
        ({"replicate": 2, "collective": "shared"}, GPUS, 1, False),
        ({"fsdp": 2}, GPUS, 1, False),
        ({"replicate": 2, "machines": 2}, GPUS[:1], 1, False),
        ({"replicate": 4, "machines": 2}, GPUS, 1, True),
    ],
    ids=str,
)
def test_auto_takes_nccl_where_each_has_a_whole_gpu(
    group: dict[str, Any], devices: list[torch.device], share: int, expected: bool
) -> None:
    assert adds_on_devices(WorkerGroup(**group), devices, share) is expected


def test_nccl_without_gpus_is_refused_with_its_remedy() -> None:
    with pytest.raises(UserError, match=r"set roles.worker.device: cuda, or take shared"):
        adds_on_devices(WorkerGroup(replicate=2, collective="nccl"), [], 1)
