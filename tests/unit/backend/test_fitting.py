"""The change that a plan proposes fits, is read from its own lines, and is the smallest one."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from backend.jobs.warnings import warnings_of
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import place
from backend.scheduler.planning.fitting import Fitting
from backend.scheduler.planning.machine_memory import (
    PlannedMachine,
    memory_of,
    memory_of_places,
    too_little_memory,
    warnings_on_machines,
)
from gradstream import jobfile
from gradstream.api.plan import MeasuredSize, PlannedChange, Size
from gradstream.spec import JobSpec

GB = 10**9
DEEP = MeasuredSize(
    parameters=10**9,
    largest_parameter=5 * 10**6,
    blocks=(10**7,) * 96,
    block_output=4 * 10**6,
    activations=3 * 10**9,
)
"""4 GB in 96 blocks, of which each example keeps 3 GB."""
WIDE = MeasuredSize(parameters=5 * 10**8, largest_parameter=4 * 10**8, blocks=(10**7,) * 10, block_output=10**5, activations=10**6)
"""Nearly all of it is one parameter outside of the blocks."""


HUGE = MeasuredSize(
    parameters=10**9,
    largest_parameter=4 * 10**8,
    whole_parameters=0,
    tensor_processes=16,
    blocks=(98 * 10**7, 10**7),
    block_output=10**5,
    activations=10**6,
)
"""Nearly all of it is one block, of wide linear layers."""


class Machines:
    """`number` machines that are alike."""

    def __init__(self, gb: float, gpus: tuple[float, ...] = (), cpus: int = 64, slots: int = 8, number: int = 1) -> None:
        """`gb`: memory of each; `gpus`: of each GPU."""
        memory = {index: int(each * GB) for index, each in enumerate(gpus)}
        self.known = {UUID(int=k): PlannedMachine(f"node-{k}", cpus, int(gb * GB), memory) for k in range(number)}
        ticks = dict.fromkeys(memory, 60)
        self.free = [
            Machine(id, each.name, slots, tuple(range(slots)), len(gpus), ticks, gpu_memory=memory)
            for id, each in self.known.items()
        ]

    def warnings(self, spec: JobSpec, size: Size) -> list[str]:
        places = place(spec, self.free)
        assert isinstance(places, tuple), places
        nodes = memory_of(spec, size, places, self.known)
        found = [
            *warnings_of(spec),
            *too_little_memory(nodes, with_activations=True),
            *warnings_on_machines(spec, size, places, self.known),
        ]
        return [each.message for each in found]

    def propose(self, spec: JobSpec, size: Size) -> PlannedChange:
        places = place(spec, self.free)
        assert isinstance(places, tuple), places
        return Fitting(spec, size, 1, places, self.free, self.known).propose(lambda _: True)


def job(workers: int = 1, device: str = "cpu", **more: Any) -> JobSpec:
    roles = {"server": {"count": 1}, "worker": {"count": workers, "device": device}}
    given = {"name": "a", "workload": {"entrypoint": "a:B"}, "stop": {"steps": 999}, "roles": roles}
    return JobSpec.model_validate({**given, "strategy": {"name": "adag"}, "optimizer": {"name": "adam"}, **more})


def paste(spec: JobSpec, found: PlannedChange) -> JobSpec:
    """Return the job of the file with these lines in place of those with the same keys."""
    keys = [line.partition(":")[0] for line in found.lines]
    rest = spec.model_dump(mode="json", exclude_unset=True).items()
    return jobfile.load("\n".join([*(f"{key}: {json.dumps(value)}" for key, value in rest if key not in keys), *found.lines]))


def keeping(gb: float, size: MeasuredSize = DEEP) -> MeasuredSize:
    """Return the size with so many activations of an example."""
    return size.model_copy(update={"activations": int(gb * GB)})


ON_4 = "roles: {worker: {device: cuda, group: "
CASES: dict[str, tuple[Machines, JobSpec, Size, list[str]]] = {
    "parts of a mini-batch": (Machines(90), job(batch_size=64), DEEP, ["accumulate: 8"]),
    "one example": (Machines(70), job(batch_size=1), keeping(30), ["recompute: blocks"]),
    "one example without blocks": (
        Machines(85),
        job(batch_size=1),
        keeping(30).model_copy(update={"blocks": None}),
        ["precision: bf16"],
    ),
    "workers on one machine": (
        Machines(110),
        job(4),
        keeping(0.01),
        ["roles: {worker: {count: 2, device: cpu, group: {fsdp: 2}}}"],
    ),
    "optimizer on a GPU": (Machines(500, (16, 16)), job(1, "cuda"), keeping(0.01), [ON_4 + "{fsdp: 2}}}"]),
    "optimizer on a GPU, size alone": (Machines(500, (15,) * 4), job(1, "cuda"), Size(parameters=GB), [ON_4 + "{fsdp: 2}}}"]),
    "parameters on a GPU": (Machines(500, (3,) * 4), job(1, "cuda"), keeping(0.01), [ON_4 + "{fsdp: 2}}}"]),
    "parameters and activations": (
        Machines(500, (3,) * 8),
        job(1, "cuda"),
        keeping(1),
        [ON_4 + "{fsdp: 2}}}", "accumulate: 8"],
    ),
    "large blocks": (
        Machines(500, (1.5,) * 8),
        job(1, "cuda"),
        keeping(0.01, DEEP.model_copy(update={"blocks": (24 * 10**7,) * 4})),
        [ON_4 + "{fsdp: 2, stages: 4}}}", "accumulate: 16"],
    ),
    "device is auto": (Machines(500, (3,) * 4), job(1, "auto"), keeping(0.01), ["roles: {worker: {group: {fsdp: 2}}}"]),
    "outside of blocks": (
        Machines(500, (3,) * 4),
        job(1, "cuda"),
        WIDE,
        ["roles: {worker: {device: cpu}}"],
    ),
    "one block is nearly all": (
        Machines(500, (6.5,) * 4),
        job(1, "cuda"),
        HUGE,
        [ON_4 + "{tensor: 2}}}"],
    ),
    "one block is nearly all, and its layers can be divided less": (
        Machines(500, (5.5,) * 4),
        job(1, "cuda"),
        HUGE.model_copy(update={"tensor_processes": 2}),
        ["roles: {worker: {device: cpu}}"],
    ),
    "a group that has parts": (
        Machines(500, (9,) * 4),
        job(roles={"worker": {"device": "cuda", "group": 4}}),
        keeping(0.01),
        ["roles: {worker: {device: cuda, group: {fsdp: 4}}}"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_proposal_planned_again_has_no_warning(case: str) -> None:
    machines, spec, size, lines = CASES[case]
    assert machines.warnings(spec, size)
    found = machines.propose(spec, size)
    assert found.lines == lines
    assert machines.warnings(paste(spec, found), size) == []


def test_a_job_with_all_defaults_written_out_gets_a_short_line() -> None:
    """The page sends it so."""
    machines, spec = Machines(500, (16, 16)), job(1, "cuda", batch_size=64)
    whole = JobSpec.model_validate(spec.model_dump(mode="json"))
    assert machines.propose(whole, keeping(0.01)).lines == machines.propose(spec, keeping(0.01)).lines == [ON_4 + "{fsdp: 2}}}"]


@pytest.mark.parametrize("gb", [10, 40, 80, 160])
@pytest.mark.parametrize("gpus", [(), (2,) * 2, (6,) * 4, (24,) * 8])
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("size", [DEEP, WIDE, keeping(0.1), Size(parameters=2 * GB)], ids=["deep", "wide", "narrow", "unknown"])
def test_every_proposal_fits(gb: int, gpus: tuple[int, ...], workers: int, size: Size) -> None:
    """As a job file with the lines, planned again, whatever they are."""
    machines, spec = Machines(gb, gpus, number=2), job(workers, "auto", batch_size=64)
    if not machines.warnings(spec, size):
        return
    found = machines.propose(spec, size)
    if found.lines:
        assert machines.warnings(paste(spec, found), size) == []
    else:
        assert "The largest part is" in found.message


def test_the_largest_part_of_a_job_that_never_fits_is_named() -> None:
    host = Machines(10).propose(job(4), keeping(1))
    assert host.lines == []
    assert host.message == (
        "No known change of the job file fits. The largest part is worker-0, with 72.0 GB of node-0, 32.0 GB of it activations."
    )
    gpu = Machines(20, (4,) * 4).propose(job(1, "cuda"), Size(parameters=GB))
    assert "The largest part is worker-0, with 36.0 GB of a GPU. `gradstream submit --plan --measure` also knows" in gpu.message


def test_a_proposal_that_the_queue_refuses_is_not_made() -> None:
    machines, spec = Machines(500, (16, 16)), job(1, "cuda")
    places = place(spec, machines.free)
    assert isinstance(places, tuple)
    asked: list[JobSpec] = []

    def confirms(changed: JobSpec) -> bool:
        asked.append(changed)
        return changed.roles.worker.group.stages > 1

    found = Fitting(spec, keeping(0.01), 1, places, machines.free, machines.known).propose(confirms)
    assert asked[0].roles.worker.group.fsdp == 2
    assert "{stages: 2}" in found.lines[0]


def test_more_processes_than_cores_are_not_proposed() -> None:
    """A group would warn of threads that wait for a core."""
    found = Machines(90, cpus=1).propose(job(4), keeping(0.01))
    assert found.lines == []


def test_a_server_holds_the_newest_pushes_of_workers_on_other_machines() -> None:
    """Two of each, as the next one arrives while the last one is handled, and the response of an exchange. Those on its own machine
    lie in shared memory."""
    size, apart, beside = Size(parameters=1000), Machines(4, slots=2, number=2), Machines(4, number=1)

    def of_server(machines: Machines, **more: Any) -> int:
        spec = job(3, **more)
        places = place(spec, machines.free)
        assert isinstance(places, tuple)
        found = memory_of_places(spec, size, places)
        return next(takes.host for each, takes in zip(places, found, strict=True) if each.role == "server")

    def remote(**more: Any) -> float:
        return (of_server(apart, **more) - of_server(beside, **more)) / 4000

    workers = remote() / 2
    assert 1 <= workers <= 3
    assert remote(pipeline=1) == workers * 3
    assert remote(strategy={"name": "easgd"}) == workers * 3
    assert remote(codec={"name": "bf16"}) == workers * 3, "half as many bytes arrive, and are decoded"


def test_a_warning_about_peers_names_a_field_of_the_job_file() -> None:
    """A group's part on another machine is called peers, a role that job files do not have."""
    machines = Machines(500, (3,) * 2, number=2)
    spec = job(roles={"worker": {"device": "cuda", "group": {"replicate": 4, "machines": 2}}})
    places = place(spec, machines.free)
    assert isinstance(places, tuple)
    assert {each.role for each in places if each.gpus} == {"worker", "peers"}
    found = too_little_memory(memory_of(spec, DEEP, places, machines.known), with_activations=True)
    on_gpus = {(each.pointer, each.message.rpartition(", or ")[2]) for each in found if " GPU " in each.message}
    assert on_gpus == {("/roles/worker/device", "set roles.worker.device: cpu.")}
