"""Distributed training as short PyTorch scripts, each complete: models, optimizers, loops. They know nothing of Gradstream but how
a job deals its data: epoch e is a permutation drawn from (seed, e), and rank r of n takes every n-th example of it.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

EXAMPLES, BATCH, SEED = 43, 4, 1


def network() -> nn.Sequential:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).double()


def data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(EXAMPLES, 5, generator=generator, dtype=torch.float64)
    return x, torch.randn(EXAMPLES, 2, generator=generator, dtype=torch.float64)


def batches(rank: int, workers: int, steps: int) -> list[tuple[Tensor, Tensor]]:
    x, y = data()
    dealt: list[tuple[Tensor, Tensor]] = []
    epoch = 0
    while len(dealt) < steps:
        order = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(SEED * 1_000_003 + epoch))
        dealt += [(x[chosen], y[chosen]) for chosen in order[rank::workers].split(BATCH)]
        epoch += 1
    return dealt[:steps]


def gradients(model: nn.Module, batch: tuple[Tensor, Tensor]) -> list[Tensor]:
    loss = nn.functional.mse_loss(model(batch[0]), batch[1])
    return list(torch.autograd.grad(loss, list(model.parameters())))


def sync(workers: int, steps: int, lr: float, momentum: float) -> Tensor:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    dealt = [batches(rank, workers, steps) for rank in range(workers)]
    for step in range(steps):
        taken = [mine[step] for mine in dealt]
        total = sum(len(x) for x, _ in taken)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        for batch in taken:
            for parameter, g in zip(model.parameters(), gradients(model, batch), strict=True):
                parameter.grad += g * (len(batch[0]) / total)
        optimizer.step()
    return parameters_to_vector(model.parameters()).detach()


def asynchronous(workers: int, steps: int, lr: float, betas: tuple[float, float]) -> Tensor:
    """In turn; Adam on the server."""
    center = network()
    optimizer = torch.optim.Adam(center.parameters(), lr=lr, betas=betas)
    replicas = [copy.deepcopy(center) for _ in range(workers)]
    dealt = [batches(rank, workers, steps) for rank in range(workers)]
    for step in range(steps):
        for replica, mine in zip(replicas, dealt, strict=True):
            for parameter, g in zip(center.parameters(), gradients(replica, mine[step]), strict=True):
                parameter.grad = g
            optimizer.step()
            replica.load_state_dict(center.state_dict())
    return parameters_to_vector(center.parameters()).detach()


def train(model: nn.Module, optimizer: torch.optim.Optimizer, taken: list[tuple[Tensor, Tensor]]) -> int:
    """Examples that it saw."""
    for inputs, targets in taken:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    return sum(len(x) for x, _ in taken)


def local_sgd(workers: int, steps: int, window: int, lr: float, momentum: float) -> Tensor:
    models = [network() for _ in range(workers)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum) for model in models]
    dealt = [batches(rank, workers, steps) for rank in range(workers)]
    for start in range(0, steps, window):
        seen = [train(m, o, d[start : start + window]) for m, o, d in zip(models, optimizers, dealt, strict=True)]
        mean = sum(parameters_to_vector(m.parameters()).detach() * (s / sum(seen)) for m, s in zip(models, seen, strict=True))
        for model in models:
            vector_to_parameters(mean.clone(), model.parameters())
    return parameters_to_vector(models[0].parameters()).detach()


def diloco(workers: int, steps: int, window: int, lr: float, outer_lr: float, outer_momentum: float) -> Tensor:
    center = network()
    outer = torch.optim.SGD(center.parameters(), lr=outer_lr, momentum=outer_momentum, nesterov=True)
    models = [copy.deepcopy(center) for _ in range(workers)]
    inner = [torch.optim.AdamW(model.parameters(), lr=lr) for model in models]
    dealt = [batches(rank, workers, steps) for rank in range(workers)]
    for start in range(0, steps, window):
        seen = [train(m, o, d[start : start + window]) for m, o, d in zip(models, inner, dealt, strict=True)]
        for c, *mine in zip(center.parameters(), *(model.parameters() for model in models), strict=True):
            c.grad = sum((c.detach() - p.detach()) * (s / sum(seen)) for p, s in zip(mine, seen, strict=True))
        outer.step()
        for model in models:
            for p, c in zip(model.parameters(), center.parameters(), strict=True):
                p.data.copy_(c.data)
    return parameters_to_vector(center.parameters()).detach()


def easgd(workers: int, steps: int, window: int, lr: float, alpha: float) -> Tensor:
    """In turn: each exchanges, then trains a window; what is left at the end is exchanged once more."""
    models, center = [network() for _ in range(workers)], parameters_to_vector(network().parameters()).detach()
    dealt = [batches(rank, workers, steps) for rank in range(workers)]
    for start in [*range(0, steps, window), steps]:
        for model, mine in zip(models, dealt, strict=True):
            x = parameters_to_vector(model.parameters()).detach()
            e = alpha * (x - center)
            center = center + e
            for step, batch in enumerate(mine[start : start + window]):
                with torch.no_grad():
                    flat = torch.cat([g.reshape(-1) for g in gradients_of(model, batch)])
                    now = parameters_to_vector(model.parameters()) - lr * flat - (e if step == 0 else 0)
                    vector_to_parameters(now, model.parameters())
    return center


def gradients_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> list[Tensor]:
    with torch.enable_grad():
        return gradients(model, batch)
