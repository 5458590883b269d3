"""A server's rule on parts of theta has the bits of the same rule on all of it, and one state."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor

from gradstream.optim.flat import PART, FlatOptimizer
from gradstream.optim.spec import AnyOptimizer, Optimizer

LENGTH = 2 * PART + 4099


def drawn(seed: int) -> Tensor:
    return torch.randn(LENGTH, generator=torch.Generator().manual_seed(seed))


def same(one: Any, other: Any) -> bool:
    return bool(torch.equal(one, other)) if isinstance(one, Tensor) else one == other


@pytest.mark.parametrize(
    "given",
    [
        {"name": "sgd", "momentum": 0.9},
        {"name": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.01, "clip_norm": 1.0},
        {"name": "adagrad", "weight_decay": 0.01},
        {"name": "adam"},
        {"name": "adamw"},
    ],
    ids=str,
)
def test_has_the_bits_of_a_whole_step_and_one_state(given: dict[str, Any]) -> None:
    spec: Optimizer = TypeAdapter(AnyOptimizer).validate_python(given)
    thetas = drawn(0), drawn(0)
    one, other = (FlatOptimizer(theta, spec, 0.1, by_parts=parts) for theta, parts in zip(thetas, (False, True), strict=True))
    for seed in range(1, 4):
        for optimizer in (one, other):
            optimizer.step(drawn(seed), 1 / seed)
        assert torch.equal(*thetas)
    assert one.state().keys() == other.state().keys()
    assert all(same(value, other.state()[name]) for name, value in one.state().items())
    resumed = FlatOptimizer(thetas[1], spec, 0.1, by_parts=True)
    resumed.load(other.state())
    for optimizer in (one, resumed):
        optimizer.step(drawn(5))
    assert torch.equal(*thetas)
    for optimizer in (one, resumed):
        optimizer.reset()
        optimizer.step(drawn(6))
        optimizer.step(drawn(7))
    assert torch.equal(*thetas)
