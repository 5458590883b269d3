"""Problems without data: formulas whose minimum is known, and a job around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.spec import JobSpec
from gradstream.training.granted import GrantedBatches
from gradstream.training.problem import Gradient

ENDLESS = 10**9
"""Mini-batches of a worker in a simulation that ends by its number of events."""


def job(strategy: Mapping[str, Any], *, workers: int = 1, shards: int = 1, steps: int = ENDLESS, **more: Any) -> JobSpec:
    """The job file of a simulation. Raises: ValidationError."""
    roles = {"worker": {"count": workers}, "server": {"count": shards}, **more.pop("roles", {})}
    given = {"name": "simulation", "workload": {"entrypoint": "toys:Toy"}, "strategy": dict(strategy), "roles": roles}
    return JobSpec.model_validate({**given, "stop": {"steps": steps}, **more})


class Quadratic:
    """f(x) = x.Hx/2 - b.x + c, each gradient with normal noise of standard deviation `noise` that is the worker's own."""

    def __init__(
        self, spec: JobSpec, rank: int, start: Tensor, curvature: Tensor, slope: Tensor, constant: float = 0.0, noise: float = 0.0
    ) -> None:
        """`start`, `slope` (b): shape (size,). `curvature` (H): shape (size, size), or (size,) for a diagonal one."""
        self.theta = start
        self.total = spec.stop.steps or ENDLESS
        self.per_epoch = 1
        self.planned = self.total * spec.roles.worker.count if spec.data.deal == "demand" else 0
        self.total_samples = self.total * spec.batch_size * spec.roles.worker.count
        self.epoch_samples: int | None = None
        self._examples = spec.batch_size
        self._curvature, self._slope, self._constant, self._noise = curvature, slope, constant, noise
        self._generator = torch.Generator().manual_seed(spec.seed * 1_000_003 + rank)

    def gradient(self, position: int) -> Gradient:
        bent = self._curvature @ self.theta if self._curvature.ndim == 2 else self._curvature * self.theta
        loss = float(self.theta @ bent) / 2 - float(self._slope @ self.theta) + self._constant
        g = bent - self._slope
        if self._noise:
            g += self._noise * torch.randn(g.shape, generator=self._generator, dtype=g.dtype).to(g.device)
        return Gradient(g, loss, self._examples)

    def take_from(self, granted: GrantedBatches) -> None:
        """Do nothing: all mini-batches are alike."""

    def buffers(self) -> Buffers | None:
        return None

    def load_buffers(self, buffers: Buffers) -> None:
        """It has none."""

    def state(self) -> dict[str, Any]:
        return {"noise": self._generator.get_state()}

    def load(self, state: dict[str, Any]) -> None:
        self._generator.set_state(state["noise"])


class Toy(Quadratic):
    """(x + 2y - 7)^2 + (2x + y - 5)^2 from (3, 4): 0 at (1, 3), curvatures 18 and 2. In float64.

    Source: Hermans, psgd-simulation.py."""

    def __init__(self, spec: JobSpec, rank: int, noise: float = 0.0) -> None:
        curvature = torch.tensor([[10.0, 8.0], [8.0, 10.0]], dtype=torch.float64)
        start, slope = torch.tensor([[3.0, 4.0], [34.0, 38.0]], dtype=torch.float64)
        super().__init__(spec, rank, start, curvature, slope, 74.0, noise)


class NoisyToy(Toy):
    """The same, with gradients that each worker sees differently."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank, noise=1.0)


class Bowl(Quadratic):
    """Curvatures from 0.1 to 2 in `size` dimensions, noisy, in float32: as wide as a test of slices wants it."""

    def __init__(self, spec: JobSpec, rank: int, size: int = 1000) -> None:
        curvature = torch.linspace(0.1, 2.0, size)
        super().__init__(spec, rank, torch.ones(size), curvature, torch.sin(torch.arange(size)), noise=0.1)


TOYS = {"toy": Toy, "noisy": NoisyToy, "bowl": Bowl}
