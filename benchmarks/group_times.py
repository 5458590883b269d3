"""The times that `gradstream advise` forecasts for groups, against real groups, in turns in the same run.

    python -m benchmarks.group_times

The model has blocks of two layers each. What the forecast starts from is measured in one process in the same run. The last figure
is measured over forecast. The forecast assumes a core for each process. So there are two comparisons: of the shortest times of
all rounds, and of the processor time of the process that takes most, with the idle time of stages that the forecast has. The second
one holds on a busy machine, too, but for waits."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from statistics import median

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.advise.group.cost import GroupFacts, seconds
from gradstream.advise.group.measure import measure_group
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.workload import Split

BLOCKS, MICRO_BATCHES, GOAL = 8, 8, 1.5
SHAPES: dict[str, tuple[dict[str, int], int]] = {
    "replicate 2": ({"replicate": 2}, 1),
    "fsdp 2": ({"fsdp": 2}, 1),
    f"stages 2, accumulate {MICRO_BATCHES}": ({"stages": 2}, MICRO_BATCHES),
    "tensor 2": ({"tensor": 2}, 1),
}
"""Group and `accumulate` of each."""
FACTS = 5
"""Measurements of what the forecast starts from."""


class Pairs(Workload):
    width: int

    def model(self) -> nn.Module:
        pairs = (
            nn.Sequential(nn.Linear(self.width, self.width), nn.ReLU(), nn.Linear(self.width, self.width)) for _ in range(BLOCKS)
        )
        return nn.Sequential(*pairs)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return list(model.children())

    def tensor_plan(self) -> dict[str, str]:
        return {"*.0": "colwise", "*.2": "rowwise"}

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.randn(2048, self.width))

    def loss(self, model: nn.Module, batch: tuple[Tensor]) -> Tensor:
        return model(batch[0]).square().mean()  # type: ignore[no-any-return]


def job(width: int, batch: int, group: dict[str, int], accumulate: int) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "group-times",
            "workload": {"entrypoint": "benchmarks.group_times:Pairs", "args": {"width": width}},
            "strategy": {"name": "sync", "lr": 0.01},
            "batch_size": batch,
            "accumulate": accumulate,
            "stop": {"steps": 10**6},
            "roles": {"worker": {"count": 1, "group": group, "device": "cpu"}},
        }
    )


def built(spec: JobSpec, stack: ExitStack) -> ModelProblem:
    code = UserCode(spec)
    batches, flat = Batches(code.dataset("train"), spec, 0), FlatModel(code.model(), torch.device("cpu"), make_theta=shared_vector)
    if spec.roles.worker.group.peers == 1:
        return ModelProblem(code, flat, batches, spec.at_once)
    group = stack.enter_context(closing(GroupProblem(code, flat, batches, spec)))
    group.start_peers(spec, "worker-0", 0)
    return group


def facts_of(spec: JobSpec, problem: ModelProblem) -> GroupFacts:
    """Return what `advise` measures, from several looks."""
    code = UserCode(spec)
    flat, batch = FlatModel(code.model(), torch.device("cpu")), problem.take(0).shares[0].batch
    found = [measure_group(spec, code, flat, batch, spec.batch_size) for _ in range(FACTS)]
    split, fixed = (median(getattr(each, name) for each in found) for name in ("split", "fixed"))
    return replace(found[-1], add=min(each.add for each in found), split=split, fixed=fixed)


class Times:
    """The mini-batches of one problem. The first one warms up."""

    def __init__(self) -> None:
        self.shortest = float("inf")
        self._used = list[list[float]]()

    def take(self, problem: ModelProblem, position: int) -> None:
        began = time.perf_counter()
        before = time.process_time()
        problem.gradient(position)
        own, took = time.process_time() - before, time.perf_counter() - began
        others = [use.cpu for use in problem.take_peer_uses()] if isinstance(problem, GroupProblem) else []
        self._used.append([own, *others])
        if position:
            self.shortest = min(self.shortest, took)

    @property
    def busiest(self) -> float:
        """Processor time of a mini-batch in the process that takes most: the median for the lead, the mean for others."""
        lead = median(own for own, *_ in self._used[1:])
        first, last = self._used[0][1:], self._used[-1][1:]
        return max([lead, *((end - begin) / (len(self._used) - 1) for begin, end in zip(first, last, strict=True))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=512, help="outputs of a layer (default: 512)")
    parser.add_argument("--batch", type=int, default=256, help="examples of a mini-batch (default: 256)")
    parser.add_argument("--rounds", type=int, default=40, help="mini-batches of each (default: 40)")
    parser.add_argument(
        "--rest", type=float, default=0.0, help="seconds before each, so that a busy machine has cores (default: 0)"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    shapes = {"one process": ({}, 1), f"one process, accumulate {MICRO_BATCHES}": ({}, MICRO_BATCHES), **SHAPES}
    with ExitStack() as stack:
        problems = {name: built(job(given.width, given.batch, *shape), stack) for name, shape in shapes.items()}
        times = {name: Times() for name in shapes}
        for position in range(1 + given.rounds):
            for name, problem in problems.items():
                time.sleep(given.rest)
                times[name].take(problem, position)
        facts = facts_of(job(given.width, given.batch, {}, 1), problems["one process"])
    print(f"{BLOCKS} blocks of two {given.width} x {given.width} layers, mini-batches of {given.batch}, {os.cpu_count()} cores")
    print(
        f"load {os.getloadavg()[0]:.1f}; adding a vector {1000 * facts.add:.2f} ms, split {facts.split:.2f}, "
        f"{1000 * facts.fixed:.2f} ms for each micro-batch"
    )
    one = times["one process"]
    for name, (group, accumulate) in shapes.items():
        worker = job(given.width, given.batch, group, accumulate).roles.worker
        idle = (accumulate + worker.group.stages - 1) / accumulate
        told = []
        for measured, of_one in ((times[name].shortest, one.shortest), (times[name].busiest * idle, one.busiest)):
            forecast = seconds(worker.group, accumulate, of_one, facts)
            told.append(f"forecast {1000 * forecast:7.1f} ms, measured {1000 * measured:7.1f} ms: {measured / forecast:.2f}")
        print(f"  {name:<27} {told[0]}   on cores of their own: {told[1]}  (goal: {GOAL})")


if __name__ == "__main__":
    main()
