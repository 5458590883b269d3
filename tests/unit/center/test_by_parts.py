"""A rule that is computed part by part has the bits of the same rule over whole vectors, and makes one vector however often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream.center.entries import Init, Join, Payload, Push
from gradstream.center.parameters.center import PART
from gradstream.center.shard import Shard
from gradstream.sim.toys import job

GAMMA, LAM, DECAY, EPS = 1e-4, 0.04, 0.95, 1e-7


def compensated(x: Tensor, theta: Tensor, base: Tensor, late: int, mean: Tensor) -> Tensor:
    square = x * x
    return x + LAM * square * (theta - base)


def adaptive(x: Tensor, theta: Tensor, base: Tensor, late: int, mean: Tensor) -> Tensor:
    square = x * x
    mean.mul_(DECAY).add_(square, alpha=1 - DECAY)
    return x + LAM * (square / (mean + EPS).sqrt()) * (theta - base)


def by_distance(x: Tensor, theta: Tensor, base: Tensor, late: int, mean: Tensor) -> Tensor:
    return x / ((theta - base) ** 2 / GAMMA + 1)


def by_staleness(x: Tensor, theta: Tensor, base: Tensor, late: int, mean: Tensor) -> Tensor:
    return x / (late + 1)


@pytest.mark.parametrize("size", [5, PART, 2 * PART + 4099])
@pytest.mark.parametrize(
    ("strategy", "rule", "lr"),
    [
        ({"name": "dc_asgd", "lam": LAM}, compensated, 0.1),
        ({"name": "dc_asgd", "lam": LAM, "adaptive": True, "decay": DECAY, "eps": EPS}, adaptive, 0.1),
        ({"name": "distance", "gamma": GAMMA}, by_distance, 1.0),
        ({"name": "dynsgd"}, by_staleness, 1.0),
    ],
    ids=["dc_asgd", "adaptive", "distance", "dynsgd"],
)
def test_has_the_bits_of_whole_vectors(strategy: dict[str, Any], rule: Callable[..., Tensor], lr: float, size: int) -> None:
    shard = Shard(job({"lr": 0.1} | strategy, workers=2))
    theta, *pushes = (torch.randn(size, generator=torch.Generator().manual_seed(seed)) for seed in range(7))
    shard.handle(Init(0, 0), Payload(theta))
    for rank in range(2):
        shard.handle(Join(rank, 0))
    assert shard.center is not None
    expected, mean, made = theta.clone(), torch.zeros(size), set[int]()
    bases, versions = [theta.clone(), theta.clone()], [0, 0]
    for number, x in enumerate(pushes):
        rank = number % 2
        direction = rule(x, expected, bases[rank], number - versions[rank], mean)
        shard.handle(
            Push(rank, 0, number // 2 + 1, versions[rank], steps=1, examples=1, want="center", position=1, finite=True), Payload(x)
        )
        expected.add_(direction, alpha=-lr)
        assert torch.equal(shard.center.theta, expected)
        bases[rank], versions[rank] = expected.clone(), number + 1
        made.add(shard.center.by_parts(torch.neg, x).data_ptr())
    assert len(made) == 1
