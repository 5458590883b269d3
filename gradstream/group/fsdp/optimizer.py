"""The optimizer of a group whose peers each step on a part of theta, and keep the optimizer's state of that part alone.

Checkpoints have the state as one process keeps it. So a group of any shape resumes from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from gradstream.center.parameters.slices import slices_for
from gradstream.group.memory import GroupMemory
from gradstream.group.requests import CallOptimizer, MakeOptimizer, MakeStep
from gradstream.optim.flat import FlatOptimizer, clip_share
from gradstream.optim.parameters import ParameterShape, pieces
from gradstream.optim.spec import Optimizer

if TYPE_CHECKING:
    from gradstream.group.peers import Peers


class OptimizerPart:
    """The optimizer of one process. Its part of theta may be empty."""

    def __init__(self, memory: GroupMemory, wanted: MakeOptimizer) -> None:
        """Step in the memory that all peers share. See `MakeStep`."""
        self._part, self._directions = wanted.part, {True: memory.sums[0], False: memory.direction}
        empty = wanted.part.start == wanted.part.stop
        mine = memory.theta[wanted.part]
        self._optimizer = None if empty else FlatOptimizer(mine, wanted.rule, wanted.lr, parameters=wanted.parameters)

    def step(self, wanted: MakeStep) -> None:
        if self._optimizer:
            direction = self._directions[wanted.along_gradient][self._part]
            self._optimizer.step(direction * wanted.share if wanted.share < 1 else direction, wanted.factor)

    def call(self, wanted: CallOptimizer) -> Any:
        return getattr(self._optimizer, wanted.method)(*wanted.arguments) if self._optimizer else None


class GroupOptimizer:
    """The lead's: a `VectorOptimizer` with the bits of one `FlatOptimizer` on the whole of theta."""

    def __init__(self, peers: Peers, rule: Optimizer, lr: float, memory: GroupMemory, parameters: Sequence[ParameterShape]) -> None:
        """`parameters`: in theta."""
        self._peers, self._rule, self._parameters, self._memory = peers, rule, parameters, memory
        by_element = rule.sees == "element"
        self._parts = slices_for("element" if by_element else "matrix", parameters, memory.theta.numel(), peers.count)
        self._shapes = [() if by_element else pieces(parameters, part) for part in self._parts]
        own_rule = rule.model_copy(update={"clip_norm": None})  # the norm is that of the whole direction
        own, *others = (MakeOptimizer(own_rule, lr, *held) for held in zip(self._parts, self._shapes, strict=True))
        for number, wanted in enumerate(others, 1):
            peers.ask(number, wanted)
        self._own = OptimizerPart(memory, own)
        for number in range(1, peers.count):
            peers.answer(number)

    def step(self, direction: Tensor, factor: float = 1.0) -> None:
        """Make a step along `direction`, shape (size,), on all parts at once. Raises: PeerLost."""
        share = 1.0 if self._rule.clip_norm is None else clip_share(direction, self._rule.clip_norm)
        along_gradient = direction.data_ptr() == self._memory.sums[0].data_ptr()
        if not along_gradient:
            self._memory.direction.copy_(direction)
        wanted = MakeStep(factor, share, along_gradient)
        for number in range(1, self._peers.count):
            self._peers.ask(number, wanted)
        self._own.step(wanted)
        for number in range(1, self._peers.count):
            self._peers.answer(number)

    def plain(self, factor: float) -> float | None:
        return None

    def move(self, theta: Tensor) -> None:
        raise RuntimeError("theta of a group stays where all of its processes see it")

    def reset(self) -> None:
        self._call_all("reset")

    def vectors(self) -> list[Tensor]:
        found = [vectors for vectors in self._call_all("vectors") if vectors is not None]
        return [torch.cat(parts) for parts in zip(*found, strict=True)]

    def set_vectors(self, vectors: list[Tensor]) -> None:
        self._call_each("set_vectors", [[vector[part] for vector in vectors] for part in self._parts])

    def state(self) -> dict[str, Any]:
        """Return the state as that of one process."""
        states = [state for state in self._call_all("state") if state is not None]
        if self._rule.sees != "element":
            return {shape.name: found[shape.name] for found, shape in self._named(states)}
        first = states[0]
        return {key: torch.cat([state[key] for state in states]) if self._is_vector(key, first) else first[key] for key in first}

    def load(self, state: dict[str, Any]) -> None:
        if self._rule.sees == "element":
            parts = [{k: v[part] if self._is_vector(k, state) else v for k, v in state.items()} for part in self._parts]
        else:
            parts = [{shape.name: state[shape.name] for shape in shapes if shape.name in state} for shapes in self._shapes]
        self._call_each("load", parts)

    def _is_vector(self, key: str, state: dict[str, Any]) -> bool:
        return key in self._rule.state_vectors and isinstance(state[key], Tensor)

    def _named(self, states: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], ParameterShape]]:
        held = [shapes for shapes in self._shapes if shapes]
        return [(state, shape) for state, shapes in zip(states, held, strict=True) for shape in shapes if shape.name in state]

    def _call_all(self, method: Literal["reset", "vectors", "state"]) -> list[Any]:
        wanted = CallOptimizer(method)
        return [self._own.call(wanted), *self._peers.ask_all(wanted)]

    def _call_each(self, method: Literal["set_vectors", "load"], arguments: Sequence[Any]) -> None:
        own, *others = (CallOptimizer(method, (argument,)) for argument in arguments)
        self._own.call(own)
        self._peers.ask_each(dict(enumerate(others, 1)))
