"""Formulas on which a law can be read off, and training as everybody writes it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.sim.toys import ENDLESS, Quadratic
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient, Problem


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


class Slope:
    """From 0. The gradient is `of(rank, position)` everywhere; 1 if nothing is given."""

    def __init__(self, spec: JobSpec, rank: int, of: Callable[[int, int], Tensor] = lambda rank, position: vector(1.0)) -> None:
        self._of, self._rank = of, rank
        self.theta = torch.zeros_like(of(rank, 0))
        self.total = spec.stop.steps or ENDLESS
        self.per_epoch = 1
        self.total_samples = self.total * spec.batch_size * spec.roles.worker.count
        self.epoch_samples: int | None = None
        self._examples = spec.batch_size

    def gradient(self, position: int) -> Gradient:
        return Gradient(self._of(self._rank, position).clone(), 0.0, self._examples)

    def buffers(self) -> Buffers | None:
        return None

    def load_buffers(self, buffers: Buffers) -> None:
        """It has none."""

    def state(self) -> dict[str, int]:
        return {}

    def load(self, state: dict[str, int]) -> None:
        """It has none."""


def slopes(of: Callable[[int, int], Tensor]) -> Callable[[JobSpec, int], Slope]:
    return lambda spec, rank: Slope(spec, rank, of)


class Parabola(Quadratic):
    """x^2 / 2 from 1."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(spec, rank, one.clone(), one, torch.zeros_like(one))


def serial(problem: Problem, steps: int, rate: float | Callable[[int], float]) -> Tensor:
    """Plain gradient descent. `rate(step)` counts from 0."""
    for t in range(steps):
        problem.theta.add_(problem.gradient(t).g, alpha=-(rate(t) if callable(rate) else rate))
    return problem.theta.clone()


def close(one: Tensor, other: Tensor, atol: float = 1e-12) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=atol)
