"""Plain PyTorch: one process, one thread, no exchange. What every other system is a multiple of.

The whole set is its share; the step is `torch.optim.SGD`, gradients are freed each step (`set_to_none`)."""

from __future__ import annotations

from benchmarks.peers import system, work
from benchmarks.peers.system import Told


def train(rank: int, told: Told) -> None:
    model = work.model(told.item).to(told.device)
    optimizers = work.optimizers(told.item, model, told.lr)

    def step() -> None:
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    system.train(told, rank, 1, model, step)


def main(told: Told) -> None:
    system.run_ranks(train, 1, told)
