"""Groups of real processes for tests."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest
import torch

from gradstream.group.fsdp import buckets
from gradstream.group.machines.machine_problem import MachineProblem
from gradstream.group.memory import shared_vector
from gradstream.group.peers import PeerLost
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.process.naming import name_process
from gradstream.spec import JobSpec
from tests.nets import CPU
from tests.support import TIMEOUT, eventually

GroupProblems = Callable[[JobSpec, int], GroupProblem]


def kill_peer(name: str) -> None:
    """Kill a descendant of this process by its name, such as `worker-0/2`, which it takes when it begins."""

    def found() -> list[psutil.Process]:
        return [each for each in psutil.Process().children(recursive=True) if f"gradstream {name} of " in " ".join(each.cmdline())]

    [victim] = eventually(found, f"the process {name}")
    victim.send_signal(signal.SIGKILL)


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each parameter has a bucket of its own, and a process waits as soon as one has not got its turn."""
    monkeypatch.setattr(buckets, "LEAST", 1)
    monkeypatch.setattr(buckets, "_WAITING", 1)


def make_group(spec: JobSpec, rank: int, folder: Path | None = None, device: torch.device | None = None) -> GroupProblem:
    """Return the problem of a worker that is a group. `folder`: see `Peers`. `device`: all processes copy theta there. It must be
    closed."""
    code = UserCode(spec)
    batches = Batches(code.dataset("train"), spec, rank, code.batching)
    flat = FlatModel(code.model(), CPU, make_theta=shared_vector)
    problem = GroupProblem(code, flat, batches, spec, devices=_devices(spec, device))
    problem.start_peers(spec, f"worker-{rank}", rank, folder)
    return problem


def _devices(spec: JobSpec, device: torch.device | None) -> list[torch.device]:
    """Return the device of each process. `device`: with nccl on GPUs, that of the first."""
    count = spec.roles.worker.group.on_one_machine.peers if device else 0
    if device and device.type == "cuda" and spec.roles.worker.group.collective == "nccl":
        return [torch.device("cuda", number) for number in range(count)]
    return [device for _ in range(count) if device]


@pytest.fixture
def grouped() -> Iterator[GroupProblems]:
    """Makes the problem of a worker that is a group; its processes end with the test."""
    yield from _making(make_group)


@pytest.fixture
def copied() -> Iterator[GroupProblems]:
    """As `grouped`, of processes that copy theta to a device. Here that is the CPU, so all goes the way that it goes to a GPU and
    back."""
    yield from _making(partial(make_group, device=CPU))


def _making(make_one: GroupProblems) -> Iterator[GroupProblems]:
    made: list[GroupProblem] = []

    def make(spec: JobSpec, rank: int) -> GroupProblem:
        made.append(make_one(spec, rank))
        return made[-1]

    yield make
    for problem in made:
        problem.close()


def serve_machine(
    spec: JobSpec, rank: int, machine: int, ends: Sequence[tuple[Connection, Connection]], device: torch.device | None
) -> None:
    """The course of the first process of another machine. `ends`: the lead's, and those of each machine."""
    for number, (of_lead, of_machine) in enumerate(ends, 1):
        of_lead.close()
        if number != machine:
            of_machine.close()
    name_process(f"machine-{machine}", spec.name)
    torch.set_num_threads(1)
    code = UserCode(spec)
    batches = Batches(code.dataset("train"), spec, rank, code.batching)
    flat = FlatModel(code.model(), CPU, make_theta=shared_vector)
    problem = MachineProblem(code, flat, batches, spec, machine=machine, devices=_devices(spec, device))
    try:
        problem.start_peers(spec, f"worker-{rank}", rank)
        problem.draw_own_numbers(spec.seed, rank)
        with suppress(PeerLost, UserError):
            problem.serve(ends[machine - 1][1])
    finally:
        problem.close()


@pytest.fixture
def spread() -> Iterator[GroupProblems]:
    """Makes the problem of a worker whose group is on several machines: processes that share no memory, and talk over pipes."""
    yield from _spreading(None)


@pytest.fixture
def spread_copied() -> Iterator[GroupProblems]:
    """As `spread`, and all processes copy theta as in `copied`."""
    yield from _spreading(CPU)


def _spreading(device: torch.device | None) -> Iterator[GroupProblems]:
    made: list[GroupProblem] = []
    machines: list[multiprocessing.Process] = []

    def make(spec: JobSpec, rank: int) -> GroupProblem:
        ends = [multiprocessing.Pipe() for _ in range(1, spec.roles.worker.group.machines)]
        context = multiprocessing.get_context("fork")
        for machine in range(1, len(ends) + 1):
            process = context.Process(target=serve_machine, args=(spec, rank, machine, ends, device), name=f"machine-{machine}")
            process.start()
            machines.append(process)  # type: ignore[arg-type]
        for _, of_machine in ends:
            of_machine.close()
        problem = make_group(spec, rank, device=device)
        problem.join_machines([of_lead for of_lead, _ in ends])
        made.append(problem)
        return problem

    yield make
    for problem in made:
        problem.close()
    for process in machines:
        process.join(TIMEOUT)
        assert process.exitcode is not None, f"{process.name} goes on"
