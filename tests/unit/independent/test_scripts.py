"""A network on a data set of unequal shares: the same center as PyTorch scripts that share no code with the product."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.sim.toys import job
from tests.unit.independent import scripts
from tests.unit.strategies.fit import Fits

STEPS = 14
every_n = pytest.mark.parametrize("n", [1, 2, 3])


def center(strategy: dict[str, Any], n: int, **more: Any) -> torch.Tensor:
    spec = job(strategy, workers=n, batch_size=scripts.BATCH, steps=STEPS, **more)
    return sim.run(spec, Fits(examples=scripts.EXAMPLES, dtype=torch.float64)).center


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@every_n
class TestScripts:
    def test_sync(self, n: int) -> None:
        ours = center({"name": "sync", "lr": 0.1}, n, optimizer={"name": "sgd", "momentum": 0.9})
        same(ours, scripts.sync(n, STEPS, 0.1, 0.9))

    def test_async(self, n: int) -> None:
        ours = center({"name": "async", "lr": 0.02}, n, optimizer={"name": "adam", "betas": [0.8, 0.99]})
        same(ours, scripts.asynchronous(n, STEPS, 0.02, (0.8, 0.99)))

    @pytest.mark.parametrize("window", [1, 4])
    def test_local_sgd(self, n: int, window: int) -> None:
        ours = center({"name": "local_sgd", "lr": 0.1, "window": window}, n, optimizer={"name": "sgd", "momentum": 0.5})
        same(ours, scripts.local_sgd(n, STEPS, window, 0.1, 0.5))

    @pytest.mark.parametrize("window", [2, 5])
    def test_diloco(self, n: int, window: int) -> None:
        outer = {"server": {"optimizer": {"name": "sgd", "lr": 0.6, "momentum": 0.8, "nesterov": True}}, "worker": {"count": n}}
        ours = center({"name": "diloco", "lr": 0.01, "window": window}, n, optimizer={"name": "adamw"}, roles=outer)
        same(ours, scripts.diloco(n, STEPS, window, 0.01, 0.6, 0.8))

    @pytest.mark.parametrize("window", [1, 4])
    def test_easgd(self, n: int, window: int) -> None:
        ours = center({"name": "easgd", "lr": 0.1, "window": window, "alpha": 0.2}, n)
        same(ours, scripts.easgd(n, STEPS, window, 0.1, 0.2))
