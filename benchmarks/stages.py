"""Stages of a pipeline against one process: the time of a mini-batch in micro-batches, in turns in the same run.

    python -m benchmarks.stages

The model has 8 equal blocks, and each stage as many of them. With p stages and m micro-batches, a pipeline is ideally
m p / (m + p - 1) times as fast as one process. The figure is the speed over that ideal."""

from __future__ import annotations

import argparse
import os
import time
from statistics import median
from typing import Any

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
from gradstream.spec import JobSpec
from gradstream.workload import Split

BLOCKS, GOAL = 8, 0.85


class Blocks(Workload):
    width: int

    def model(self) -> nn.Module:
        return nn.Sequential(*(nn.Sequential(nn.Linear(self.width, self.width), nn.ReLU()) for _ in range(BLOCKS)))

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return list(model.children())

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.randn(2048, self.width), torch.randn(2048, self.width))

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return nn.functional.mse_loss(model(batch[0]), batch[1])


def job(width: int, batch: int, micro_batches: int, stages: int) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "stages",
            "workload": {"entrypoint": f"{__name__}:Blocks", "args": {"width": width}},
            "strategy": {"name": "sync", "lr": 0.01},
            "batch_size": batch,
            "accumulate": micro_batches,
            "stop": {"steps": 10**6},
            "roles": {"worker": {"count": 1, "group": {"stages": stages}, "device": "cpu"}},
        }
    )


def problem(spec: JobSpec) -> Any:
    code = UserCode(spec)
    batches, flat = Batches(code.dataset("train"), spec, 0), FlatModel(code.model(), torch.device("cpu"), make_theta=shared_vector)
    if spec.roles.worker.group.stages == 1:
        return ModelProblem(code, flat, batches, spec.at_once)
    staged = GroupProblem(code, flat, batches, spec)
    staged.start_peers(spec, "worker-0", 0)
    return staged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024, help="inputs and outputs of a block (default: 1024)")
    parser.add_argument("--batch", type=int, default=512, help="examples of a mini-batch (default: 512)")
    parser.add_argument("--micro-batches", type=int, default=8, help="parts of a mini-batch (default: 8)")
    parser.add_argument("--stages", type=int, default=2, help="stages of the pipeline (default: 2)")
    parser.add_argument("--rounds", type=int, default=20, help="mini-batches of each (default: 20)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    one = problem(job(given.width, given.batch, given.micro_batches, 1))
    staged = problem(job(given.width, given.batch, given.micro_batches, given.stages))
    seconds: dict[str, list[float]] = {"one process": [], "stages": []}
    for position in range(given.rounds + 2):
        for name, each in (("one process", one), ("stages", staged)):
            began = time.perf_counter()
            each.gradient(position)
            if position > 1:
                seconds[name].append(time.perf_counter() - began)
    staged.close()
    found = {name: median(times) for name, times in seconds.items()}
    ideal = given.micro_batches * given.stages / (given.micro_batches + given.stages - 1)
    speedup = found["one process"] / found["stages"]
    print(f"{BLOCKS} blocks of {given.width} x {given.width}, mini-batches of {given.batch}, {os.cpu_count()} cores")
    for name, value in found.items():
        print(f"  {name:<12} {value * 1000:8.1f} ms")
    print(f"  {given.stages} stages are {speedup:.2f} times as fast; {ideal:.2f} is ideal: {speedup / ideal:.2f} (goal: {GOAL})")


if __name__ == "__main__":
    main()
