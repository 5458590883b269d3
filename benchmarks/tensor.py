"""Tensor parallelism against one process: the time of a mini-batch, in turns in the same run.

    python -m benchmarks.tensor

A wide MLP with a plan of pairs and with the default plan, which gathers the outputs of each layer; and blocks of a transformer.
With t processes, t times as fast is ideal. The figure is the speed over that of one process."""

from __future__ import annotations

import argparse
import os
import time
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

LENGTH, HEADS, GOAL = 64, 8, 0.7
"""Tokens of a sentence, heads of attention, and the least share of the ideal speed."""

PLANS: dict[str, dict[str, str] | None] = {
    "MLP, pairs": {"[0-9]*.0": "colwise", "[0-9]*.2": "rowwise"},
    "MLP, no plan": None,
    "transformer": {"*.[qkv]": "colwise", "*.out": "rowwise", "*.up": "colwise", "*.down": "rowwise"},
}


class Block(nn.Module):
    """Attention and a feed-forward layer, both with a norm before and the input added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down, self.head = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), width // HEADS

    def forward(self, x: Tensor) -> Tensor:
        y = self.before(x)
        q, k, v = (part.unflatten(-1, (-1, self.head)).transpose(1, 2) for part in (self.q(y), self.k(y), self.v(y)))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))  # type: ignore[no-any-return]


class Wide(Workload):
    name: str
    width: int

    def model(self) -> nn.Module:
        if self.name == "transformer":
            return nn.Sequential(*(Block(self.width // 4) for _ in range(2)))
        pairs = (nn.Sequential(nn.Linear(self.width, self.width), nn.ReLU(), nn.Linear(self.width, self.width)) for _ in range(2))
        return nn.Sequential(*pairs)

    def tensor_plan(self) -> dict[str, str] | None:
        return PLANS[self.name]

    def dataset(self, split: Split) -> TensorDataset:
        shape = (512, LENGTH, self.width // 4) if self.name == "transformer" else (2048, self.width)
        return TensorDataset(torch.randn(shape))

    def loss(self, model: nn.Module, batch: tuple[Tensor]) -> Tensor:
        return model(batch[0]).square().mean()  # type: ignore[no-any-return]


def job(name: str, width: int, batch: int, tensor: int) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "tensor",
            "workload": {"entrypoint": f"{__name__}:Wide", "args": {"name": name, "width": width}},
            "strategy": {"name": "sync", "lr": 0.01},
            "batch_size": batch,
            "stop": {"steps": 10**6},
            "roles": {"worker": {"count": 1, "group": {"tensor": tensor}, "device": "cpu"}},
        }
    )


def problem(spec: JobSpec) -> Any:
    code = UserCode(spec)
    batches, flat = Batches(code.dataset("train"), spec, 0), FlatModel(code.model(), torch.device("cpu"), make_theta=shared_vector)
    if spec.roles.worker.group.peers == 1:
        return ModelProblem(code, flat, batches, spec.at_once)
    split = GroupProblem(code, flat, batches, spec)
    split.start_peers(spec, "worker-0", 0)
    return split


def compare(name: str, given: argparse.Namespace) -> None:
    batch = given.batch // 16 if name == "transformer" else given.batch
    one, split = (problem(job(name, given.width, batch, tensor)) for tensor in (1, given.tensor))
    seconds: dict[str, list[float]] = {"one process": [], "tensor": []}
    exchanges = 0
    for position in range(given.rounds + 2):
        exchanges = split.process.exchanged
        for kind, each in (("one process", one), ("tensor", split)):
            began = time.perf_counter()
            each.gradient(position)
            if position > 1:
                seconds[kind].append(time.perf_counter() - began)
    exchanges = split.process.exchanged - exchanges
    split.close()
    alone, together = (1000 * min(times) for times in seconds.values())
    speedup = alone / together
    print(
        f"  {name:<13} {alone:8.1f} ms in one process {together:8.1f} ms in {given.tensor}: {speedup:.2f} times as fast, "
        f"{speedup / given.tensor:.2f} of the ideal (goal: {GOAL}); {exchanges} exchanges"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--width", type=int, default=1024, help="outputs of a layer; of a block of the transformer, a fourth (default: 1024)"
    )
    parser.add_argument("--batch", type=int, default=512, help="examples of a mini-batch (default: 512)")
    parser.add_argument("--tensor", type=int, default=2, help="processes of the group (default: 2)")
    parser.add_argument("--rounds", type=int, default=20, help="mini-batches of each (default: 20)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"layers of {given.width} x {given.width}, mini-batches of {given.batch}, {os.cpu_count()} cores")
    for name in PLANS:
        compare(name, given)


if __name__ == "__main__":
    main()
