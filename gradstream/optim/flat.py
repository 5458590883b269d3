"""An optimizer on one flat vector: the same class serves the worker's local steps and the shard's server steps."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from gradstream.optim.parameters import ParameterShape
from gradstream.optim.spec import Optimizer
from gradstream.own_pages import own_copy

_WHOLE = "theta"
PART = 1 << 20
"""Elements of a part of theta that a server's rule steps on at a time."""


class VectorOptimizer(Protocol):
    """An optimizer that steps on one vector: `FlatOptimizer`, or one whose parts several processes keep."""

    def step(self, direction: Tensor, factor: float = 1.0) -> None: ...
    def plain(self, factor: float) -> float | None: ...
    def move(self, theta: Tensor) -> None: ...
    def reset(self) -> None: ...
    def vectors(self) -> list[Tensor]: ...
    def set_vectors(self, vectors: list[Tensor]) -> None: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, state: dict[str, Any]) -> None: ...


class FlatOptimizer:
    """A torch optimizer in the memory of `theta`, shape (n,).

    Most rules work element by element. Then theta is its one parameter, and a step on slices of a vector gives the bits of a step
    on the whole. A rule that sees parameters has a view of each in their place. Both give the bits of the same optimizer on the
    model's own parameters."""

    def __init__(
        self,
        theta: Tensor,
        spec: Optimizer,
        lr: float,
        workers: int = 1,
        parameters: Sequence[ParameterShape] = (),
        *,
        by_parts: bool = False,
    ) -> None:
        """`parameters`: those that lie in theta, one behind another; a part of one is flat. Without any, theta is the only one.
        `by_parts`: a rule that works element by element makes no vectors like theta from its second step on."""
        whole = ParameterShape(_WHOLE, tuple(theta.shape))
        self._shapes = [whole] if spec.sees == "element" or not parameters else [shape for shape in parameters if shape.size]
        self._theta = theta
        self._parameters = [nn.Parameter(view, requires_grad=False) for view in self._views(theta)]
        self._spec, self._lr, self._workers = spec, spec.lr or lr, workers
        self._optimizer = spec.build(self._named(), lr, workers)
        self._may_part = by_parts and spec.sees == "element" and theta.numel() > PART
        self._parts: torch.optim.Optimizer | None = None
        """The same rule on parts of theta, with parts of the state. None: it is not built yet."""
        self._rule = inspect.unwrap(type(self._optimizer).step)
        """The step alone: what torch wraps around it imports torch's compiler (ADR 161)."""

    def step(self, direction: Tensor, factor: float = 1.0) -> None:
        """Make a step along `direction`, shape (n,), in place, at `factor` times the learning rate."""
        if self._spec.clip_norm is not None:
            direction = clipped(direction, self._spec.clip_norm)
        if self._spec.is_plain:  # the same bits, without the twenty calls of torch.optim
            self._parameters[0].data.add_(direction, alpha=self._alpha(factor))
            return
        longest = self._spec.clip_parameter_norm
        if self._may_part and self._optimizer.state:
            self._parts = self._parts or self._build_parts()
            self._step(self._parts, torch.split(direction, PART), factor)
        else:
            views = self._views(direction)
            self._step(self._optimizer, views if longest is None else [clipped(view, longest) for view in views], factor)

    def _step(self, optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor], factor: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = self._lr * factor * group["lr_factor"]
        parameters = self._parameters if optimizer is self._optimizer else optimizer.param_groups[0]["params"]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        with torch.no_grad():
            self._rule(optimizer)
        for parameter in parameters:
            parameter.grad = None

    def _build_parts(self) -> torch.optim.Optimizer:
        """Return the rule on parts of theta, whose state is the memory of the whole one's."""
        parts = [nn.Parameter(part, requires_grad=False) for part in torch.split(self._theta, PART)]
        made = self._spec.build([(_WHOLE, part) for part in parts], self._lr, self._workers)
        for name, value in self._optimizer.state[self._parameters[0]].items():
            is_vector = value.shape == self._theta.shape
            of_parts = torch.split(value, PART) if is_vector else [value, *(value.clone() for _ in parts[1:])]
            for part, of_part in zip(parts, of_parts, strict=True):
                made.state[part][name] = of_part
        return made

    def plain(self, factor: float) -> float | None:
        """Return the number by which `step` scales a direction before it adds it; None if it does more than that."""
        return self._alpha(factor) if self._spec.is_plain and self._spec.clip_norm is None else None

    def _alpha(self, factor: float) -> float:
        return -self._lr * factor

    def move(self, theta: Tensor) -> None:
        """Step in this vector from now on."""
        self._parts = None
        self._theta = theta
        for parameter, view in zip(self._parameters, self._views(theta), strict=True):
            parameter.data = view

    def reset(self) -> None:
        """Forget what earlier steps left: momentum, sums of squares, counters."""
        self._optimizer.state.clear()
        self._parts = None

    def vectors(self) -> list[Tensor]:
        """Return the state vectors that are as long as theta, in a fixed order; zeros before the first step, and where a parameter
        keeps none."""
        return [self._vector(name) for name in self._spec.state_vectors]

    def set_vectors(self, vectors: list[Tensor]) -> None:
        """Replace `vectors()` by these; before the first step this does nothing."""
        for name, vector in zip(self._spec.state_vectors, vectors, strict=True):
            for parameter, view in zip(self._parameters, self._views(vector), strict=True):
                kept = self._optimizer.state.get(parameter, {}).get(name)
                if kept is not None:
                    kept.copy_(view)

    def state(self) -> dict[str, Any]:
        """Return a copy of the state: tensors and plain values; by name of the parameter, if the rule sees parameters."""
        states = {name: _copied(self._optimizer.state.get(parameter, {})) for name, parameter in self._named()}
        return states if self._spec.sees != "element" else states[_WHOLE]

    def load(self, state: dict[str, Any]) -> None:
        states = state if self._spec.sees != "element" else {_WHOLE: state}
        name_of = {id(parameter): name for name, parameter in self._named()}
        order = [name_of[id(parameter)] for group in self._optimizer.param_groups for parameter in group["params"]]
        whole = self._optimizer.state_dict()
        whole["state"] = {number: _copied(states[name]) for number, name in enumerate(order) if states.get(name)}
        self._optimizer.load_state_dict(whole)
        self._parts = None

    def _named(self) -> list[tuple[str, nn.Parameter]]:
        return [(shape.name, parameter) for shape, parameter in zip(self._shapes, self._parameters, strict=True)]

    def _views(self, vector: Tensor) -> list[Tensor]:
        parts = torch.split(vector, [shape.size for shape in self._shapes])
        return [part.view(shape.shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def _vector(self, name: str) -> Tensor:
        kept = [self._optimizer.state.get(parameter, {}).get(name) for parameter in self._parameters]
        if len(kept) == 1 and isinstance(kept[0], Tensor):
            return kept[0].view(-1)
        pairs = zip(kept, self._parameters, strict=True)
        found = [(torch.zeros_like(parameter) if vector is None else vector).view(-1) for vector, parameter in pairs]
        return torch.cat(found) if found else torch.zeros_like(self._theta)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    return {key: own_copy(value) if isinstance(value, Tensor) else value for key, value in state.items()}


def clipped(x: Tensor, longest: float) -> Tensor:
    """Return `x`, or a copy clipped to the L2 norm `longest`."""
    share = clip_share(x, longest)
    return x * share if share < 1 else x


def clip_share(x: Tensor, longest: float) -> float:
    """Return the factor that clips `x` to the L2 norm `longest`; 1: it is short enough (the formula is that of
    torch.nn.utils.clip_grad_norm_)."""
    return min(1.0, longest / (float(torch.linalg.vector_norm(x)) + 1e-6))
