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

    def __init__(self, theta: Tensor, spec: Optimizer, lr: float) -> None:
        self._parameter = nn.Parameter(theta, requires_grad=False)
        self._optimizer = spec.build([self._parameter], lr)

    def step(self, direction: Tensor) -> None:
        """One step along `direction`, shape (n,), in place."""
        self._parameter.grad = direction
        self._optimizer.step()
        self._parameter.grad = None

    def state(self) -> dict[str, Any]:
        """Tensors and plain values; a copy."""
        state = self._optimizer.state_dict()["state"].get(0, {})
        return {key: value.clone() if isinstance(value, Tensor) else value for key, value in state.items()}

    def load(self, state: dict[str, Any]) -> None:
        whole = self._optimizer.state_dict()
        copied = {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()}
        whole["state"] = {0: copied} if copied else {}
        self._optimizer.load_state_dict(whole)
