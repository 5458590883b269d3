"""An optimizer on one flat vector: the same class serves the worker's local steps and the shard's server steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gradstream.optim.spec import Optimizer


class FlatOptimizer:
    """A `torch.optim` optimizer whose one parameter is `theta` itself (shared storage, shape (n,)).

    Every rule of torch.optim that is offered works element by element, so a step on slices of a vector gives the bits of
    a step on the whole, and a step on the whole gives those of torch.optim on the model's own parameters."""

    def __init__(self, theta: Tensor, spec: Optimizer, lr: float, workers: int = 1) -> None:
        self._parameter = nn.Parameter(theta, requires_grad=False)
        self._spec, self._lr = spec, spec.lr or lr
        self._optimizer = spec.build([self._parameter], lr, workers)

    def step(self, direction: Tensor, factor: float = 1.0) -> None:
        """Make a step along `direction`, shape (n,), in place, at `factor` times the learning rate."""
        if self._spec.clip_norm is not None:
            direction = clipped(direction, self._spec.clip_norm)
        if self._spec.is_plain:  # the same bits, without the twenty calls of torch.optim
            self._parameter.data.add_(direction, alpha=self._alpha(factor))
            return
        for group in self._optimizer.param_groups:
            group["lr"] = self._lr * factor
        self._parameter.grad = direction
        self._optimizer.step()
        self._parameter.grad = None

    def plain(self, factor: float) -> float | None:
        """Return the number by which `step` scales a direction before it adds it; None if it does more than that."""
        return self._alpha(factor) if self._spec.is_plain and self._spec.clip_norm is None else None

    def _alpha(self, factor: float) -> float:
        return -self._lr * factor

    def move(self, theta: Tensor) -> None:
        """Step in this vector from now on."""
        self._parameter.data = theta

    def reset(self) -> None:
        """Forget what earlier steps left: momentum, sums of squares, counters."""
        self._optimizer.state.clear()

    def vectors(self) -> list[Tensor]:
        """Return the state vectors that are as long as theta, in a fixed order; zeros before the first step."""
        state = self._optimizer.state.get(self._parameter, {})
        kept = (state.get(name) for name in self._spec.state_vectors)
        return [torch.zeros_like(self._parameter) if vector is None else vector for vector in kept]

    def set_vectors(self, vectors: list[Tensor]) -> None:
        """Replace `vectors()` by these; before the first step this does nothing."""
        state = self._optimizer.state.get(self._parameter, {})
        for name, vector in zip(self._spec.state_vectors, vectors, strict=True):
            if state.get(name) is not None:
                state[name].copy_(vector)

    def state(self) -> dict[str, Any]:
        """Return a copy of the state: tensors and plain values."""
        state = self._optimizer.state_dict()["state"].get(0, {})
        return {key: value.clone() if isinstance(value, Tensor) else value for key, value in state.items()}

    def load(self, state: dict[str, Any]) -> None:
        whole = self._optimizer.state_dict()
        copied = {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()}
        whole["state"] = {0: copied} if copied else {}
        self._optimizer.load_state_dict(whole)


def clipped(x: Tensor, longest: float) -> Tensor:
    """Return `x`, or a copy clipped to the L2 norm `longest` (by the formula of torch.nn.utils.clip_grad_norm_)."""
    share = longest / (float(torch.linalg.vector_norm(x)) + 1e-6)
    return x * share if share < 1 else x
