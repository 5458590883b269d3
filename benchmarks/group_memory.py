"""The memory of the processes of a group, against one process: `python -m benchmarks.group_memory`.

Each row is a run of its own: a model of equal blocks, whose worker steps by Adam. Memory is looked at again and again from the
second mini-batch on, and the largest values count, in sizes of the model. *private* is memory that one process alone has; *PSS*
counts memory that several have as a part for each. What the process has before it builds the model is left out for one process
and for all together; the processes of a group share it. The last columns are the PSS of all, and the time of a mini-batch."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.process import begin
from gradstream.spec import JobSpec
from gradstream.training.worker_model import WorkerModel
from gradstream.workload import Split

BLOCKS, GOAL = 16, 0.4
AXES = ("replicate", "fsdp", "stages", "tensor")
LOOK_INTERVAL = 0.02
"""Seconds between two looks at the memory."""
TIMEOUT = 1200


class Whole(nn.Module):
    """A layer that `tensor` does not split."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight


class Blocks(Workload):
    width: int
    whole: int = 0
    """Blocks that `tensor` does not split."""

    def model(self) -> nn.Module:
        kinds = [Whole(self.width) if k < self.whole else nn.Linear(self.width, self.width) for k in range(BLOCKS)]
        return nn.Sequential(*(nn.Sequential(kind, nn.ReLU()) for kind in kinds))

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.randn(256, self.width), torch.randn(256, self.width))

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return nn.functional.mse_loss(model(batch[0]), batch[1])


def job(width: int, group: dict[str, int], parts: int, whole: int = 0, optimizer: dict[str, Any] | None = None) -> JobSpec:
    at_once = group.get("fsdp", 1) * group.get("replicate", 1)
    return JobSpec.model_validate(
        {
            "name": "group-memory",
            "workload": {"entrypoint": "benchmarks.group_memory:Blocks", "args": {"width": width, "whole": whole}},
            "strategy": {"name": "local_sgd", "lr": 0.001},
            "optimizer": optimizer or {"name": "adam"},
            "batch_size": 32,
            "accumulate": parts // at_once,
            "stop": {"steps": 10**6},
            "roles": {"worker": {"count": 1, "group": group, "device": "cpu"}},
        }
    )


def train(spec: JobSpec, rounds: int) -> None:
    """Train. Prints the private memory before, once it has trained a mini-batch, and at last the median time of one."""
    torch.set_num_threads(1)
    importlib.import_module("torch._dynamo")  # as for every process of a job: the first optimizer would import it
    begin._keep_freed_memory()
    before = memory_of(os.getpid())[0]
    code = UserCode(spec)
    grouped = spec.roles.worker.group.peers > 1
    make_theta = shared_vector if grouped else None
    batches, flat = Batches(code.dataset("train"), spec, 0), FlatModel(code.model(), torch.device("cpu"), make_theta=make_theta)
    problem = GroupProblem(code, flat, batches, spec) if grouped else ModelProblem(code, flat, batches, spec.at_once)
    if isinstance(problem, GroupProblem):
        problem.start_peers(spec, "worker-0", 0)
    optimizer = WorkerModel(spec, problem).optimizer
    seconds = []
    for position in range(rounds):
        began = time.perf_counter()
        optimizer.step(problem.gradient(position).g)
        seconds.append(time.perf_counter() - began)
        if position == 0:
            print(before, flush=True)
    print(median(seconds[1:]), flush=True)
    sys.stdin.read()  # until the memory is no longer looked at: when the peers have ended, theirs is the lead's
    if isinstance(problem, GroupProblem):
        problem.close()


class Peaks:
    """The largest values of what processes have in memory, in bytes."""

    def __init__(self, before: int) -> None:
        """`before`: bytes that the lead had already."""
        self._before = before
        self.lead = self.peer = self.pss = self.total = 0
        """Private memory of the lead, and of another peer; PSS of one process; and of all together."""

    def look(self, lead: int) -> None:
        private, pss = memory_of(lead)
        others = [memory_of(child.pid) for child in psutil.Process(lead).children()]
        self.lead = max(self.lead, private if others else private - self._before)
        self.peer = max([self.peer, *(private for private, _ in others)])
        self.pss = max([self.pss, pss if others else pss - self._before, *(pss for _, pss in others)])
        self.total = max(self.total, pss + sum(pss for _, pss in others) - self._before)


def measured(given: argparse.Namespace, group: dict[str, int]) -> dict[str, float]:
    """Return the largest values in sizes of the model: lead, peer, pss, total; and the seconds of a mini-batch."""
    command = [sys.executable, "-m", "benchmarks.group_memory", "--one", json.dumps(group)]
    command += [f"--megabytes={given.megabytes}", f"--rounds={given.rounds}", f"--peers={given.peers}"]
    command += [f"--whole={given.whole}", f"--optimizer={given.optimizer}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        peaks, began = Peaks(int(process.stdout.readline())), time.monotonic()
        while not select.select([process.stdout], [], [], LOOK_INTERVAL)[0]:
            if time.monotonic() - began > TIMEOUT:
                process.kill()
                raise SystemExit(f"{group} took longer than {TIMEOUT} s")
            peaks.look(process.pid)
        seconds = float(process.stdout.readline())
        process.stdin.close()
    size = 4 * BLOCKS * width_of(given.megabytes) ** 2
    figures = {"lead": peaks.lead, "peer": peaks.peer, "pss": peaks.pss, "total": peaks.total}
    return {name: value / size for name, value in figures.items()} | {"seconds": seconds}


def width_of(megabytes: int) -> int:
    return math.isqrt(megabytes * 10**6 // 4 // BLOCKS)


def memory_of(pid: int) -> tuple[int, int]:
    """Return the private memory of a process, and its PSS, in bytes."""
    found = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return _bytes("Private_Clean", found) + _bytes("Private_Dirty", found), _bytes("Pss", found)


def _bytes(key: str, rollup: str) -> int:
    found = re.search(rf"^{key}:\s+(\d+)", rollup, re.MULTILINE)
    assert found is not None
    return 1024 * int(str(found[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--megabytes", type=int, default=500, help="size of the model (default: 500); one process takes five times that"
    )
    parser.add_argument("--peers", type=int, default=4, help="processes of each group (default: 4)")
    parser.add_argument("--rounds", type=int, default=4, help="mini-batches of each (default: 4)")
    parser.add_argument("--whole", type=int, default=0, help=f"of {BLOCKS} blocks that tensor does not split (default: 0)")
    parser.add_argument("--optimizer", default='{"name": "adam"}', help="as in a job file, in JSON (default: adam)")
    parser.add_argument("--axes", nargs="+", choices=AXES, default=AXES, help="groups to compare (default: all)")
    parser.add_argument("--one", metavar="GROUP", help="train one group in this process")
    given = parser.parse_args()
    if given.one:
        spec = job(width_of(given.megabytes), json.loads(given.one), given.peers, given.whole, json.loads(given.optimizer))
        train(spec, given.rounds)
        return
    rows: dict[str, Any] = {"one process": {}} | {f"{axis} {given.peers}": {axis: given.peers} for axis in given.axes}
    found = {name: measured(given, group) for name, group in rows.items()}
    print(f"a model of {given.megabytes} MB, Adam; memory in sizes of the model")
    print(f"{'':14}{'lead, private':>15}{'peer, private':>15}{'largest PSS':>13}{'all together':>14}{'seconds':>9}")
    for name, row in found.items():
        print(f"{name:14}{row['lead']:15.2f}{row['peer']:15.2f}{row['pss']:13.2f}{row['total']:14.2f}{row['seconds']:9.2f}")
    if fsdp := found.get(f"fsdp {given.peers}"):
        ratio = max(fsdp["lead"], fsdp["peer"]) / found["one process"]["lead"]
        print(f"largest private memory with fsdp, over that of one process: {ratio:.2f} (goal: {GOAL})")


if __name__ == "__main__":
    main()
