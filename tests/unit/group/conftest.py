"""Groups of real processes for tests."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gradstream.group.fsdp import buckets
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from tests.nets import CPU
from tests.support import eventually

GroupProblems = Callable[[JobSpec, int], GroupProblem]


def kill_peer(name: str) -> None:
    """Kill a child of this process by its name, such as `worker-0/2`, which it takes when it begins."""

    def found() -> list[psutil.Process]:
        return [each for each in psutil.Process().children() if f"gradstream {name} of " in " ".join(each.cmdline())]

    [victim] = eventually(found, f"the process {name}")
    victim.send_signal(signal.SIGKILL)


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each parameter has a bucket of its own, and a process waits as soon as one has not got its turn."""
    monkeypatch.setattr(buckets, "LEAST", 1)
    monkeypatch.setattr(buckets, "_WAITING", 1)


def make_group(spec: JobSpec, rank: int, folder: Path | None = None) -> GroupProblem:
    """Return the problem of a worker that is a group. `folder`: see `Peers`. It must be closed."""
    code = UserCode(spec)
    batches = Batches(code.dataset("train"), spec, rank, code.batching)
    problem = GroupProblem(code, FlatModel(code.model(), CPU, make_theta=shared_vector), batches, spec)
    problem.start_peers(spec, f"worker-{rank}", rank, folder)
    return problem


@pytest.fixture
def grouped() -> Iterator[GroupProblems]:
    """Makes the problem of a worker that is a group; its processes end with the test."""
    made: list[GroupProblem] = []

    def make(spec: JobSpec, rank: int) -> GroupProblem:
        made.append(make_group(spec, rank))
        return made[-1]

    yield make
    for problem in made:
        problem.close()
