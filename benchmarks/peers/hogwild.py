"""Hogwild: processes that step on the same parameters in shared memory, without locks: the limit of what one machine allows,
as nothing is ever sent.

As in PyTorch's own example (examples/mnist_hogwild): `model.share_memory()` before the processes are made, an optimizer in each.
`torch.optim.SGD` without momentum has no state to share."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import system, work
from benchmarks.peers.system import Told


def train(rank: int, told: Told, model: Any, optimizers: list[Any]) -> None:
    def step() -> None:
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    system.train(told, rank, told.workers, model, step)


def main(told: Told) -> None:
    model = work.model(told.item).to(told.device)
    model.share_memory()  # on a GPU they share it by CUDA IPC
    optimizers = work.optimizers(told.item, model, told.lr)  # made here, so that all share the sums of Adagrad
    system.run_ranks(train, told.workers, told, model, optimizers)
