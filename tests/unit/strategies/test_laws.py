"""Laws that only a simulation can show: long runs, their statistics and the exact limits of stability. The others are in
`tests/laws`, where they also run over Redis."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream import sim
from gradstream.sim.toys import Bowl, NoisyToy, Quadratic, job
from gradstream.spec import JobSpec
from gradstream.strategies.async_ import Async
from gradstream.strategies.base import ShardSide, Updates
from tests.laws.problems import Parabola


class TestRounds:
    @pytest.mark.more
    def test_backup_workers_make_rounds_shorter(self) -> None:
        """A round of all waits for the slowest of n exponential times, one of K for the K-th."""
        times = {}
        for quorum in (8, 6):
            spec = job({"name": "sync", "lr": 0.001}, workers=8, gate={"mode": "bsp", "quorum": quorum})
            run = sim.run(spec, NoisyToy, events=8000, schedule="random")
            times[quorum] = run.time / run.version
            assert set(run.staleness) == {0}
        assert times[8] == pytest.approx(sum(1 / k for k in range(1, 9)), rel=0.05)
        assert times[6] < 0.6 * times[8]


class TestShards:
    @pytest.mark.parametrize("shards", [2, 3, 7])
    @pytest.mark.parametrize(("strategy", "optimizer"), [("async", "adam"), ("sync", "sgd"), ("adag", "sgd")])
    def test_any_number_gives_the_same_bits(self, strategy: str, optimizer: str, shards: int) -> None:
        def center(count: int, size: int, align: int) -> torch.Tensor:
            spec = job({"name": strategy, "lr": 0.01}, workers=3, shards=count, optimizer={"name": optimizer})
            return sim.run(spec, lambda s, r: Bowl(s, r, size), events=20, schedule="random", align=align).center

        assert torch.equal(center(1, 20_011, 4096), center(shards, 20_011, 4096))
        assert torch.equal(center(1, 5, 1), center(shards, 5, 1))  # 7 shards of 5 elements: some have none


class TestStaleness:
    @pytest.mark.more
    def test_memoryless_workers_have_a_geometric_staleness(self) -> None:
        run = sim.run(job({"name": "async", "lr": 0.001}, workers=8), NoisyToy, events=12_000, schedule="random")
        assert sum(run.staleness) / 12_000 == pytest.approx(7, abs=0.05)
        for s in range(6):
            assert run.staleness.count(s) / 12_000 == pytest.approx((1 / 8) * (7 / 8) ** s, abs=0.01)


class TestStability:
    """On f = x^2 / 2 in turn, a rule that moves the center by c x has an exact limit: c < 2 sin(pi / (2 (2n - 1)))."""

    @pytest.mark.more
    @pytest.mark.parametrize(("workers", "lr", "window"), [(3, 0.1, 9), (4, 0.1, 5), (8, 0.05, 4)])
    def test_downpour_diverges_one_window_later(self, workers: int, lr: float, window: int) -> None:
        assert growth("downpour", workers, lr, n_push=window, n_fetch=window) < 1
        assert growth("downpour", workers, lr, n_push=window + 1, n_fetch=window + 1) > 1

    @pytest.mark.few(1)
    @pytest.mark.parametrize(("workers", "lr"), [(3, 0.1), (4, 0.1), (8, 0.05)])
    @pytest.mark.parametrize("window", [1, 12, 59])
    def test_adag_converges_there_with_any_window(self, workers: int, lr: float, window: int) -> None:
        assert growth("adag", workers, lr, window=window) < 1

    @pytest.mark.few(1)
    @pytest.mark.parametrize("workers", [1, 2, 4, 8])
    def test_async_diverges_at_its_limit(self, workers: int) -> None:
        limit = 2 * math.sin(math.pi / (2 * (2 * workers - 1)))
        assert growth("async", workers, 0.97 * limit) < 1
        assert growth("async", workers, 1.03 * limit) > 1


def growth(strategy: str, workers: int, lr: float, **windows: int) -> float:
    """How much larger the swings are at the end than in the middle."""
    run = sim.run(job({"name": strategy, "lr": lr, **windows}, workers=workers, on_nan="drop"), Parabola, events=900)
    seen = [math.sqrt(2 * loss) for loss in run.losses[0]]
    part = len(seen) // 3
    return max(seen[-part:]) / max(seen[part : 2 * part])


class TestImplicitMomentum:
    """Memoryless asynchrony moves as momentum 1 - 1/n does, at a rate of lr/n: E[d'] = mu E[d] - lr/n grad."""

    @pytest.mark.few(1)
    @pytest.mark.parametrize("workers", [2, 4, 8])
    def test_of_n_workers_is_1_minus_1_over_n(self, workers: int) -> None:
        mu, rate = fitted(workers, {"name": "sgd"}, lags=1)
        assert mu == pytest.approx(1 - 1 / workers, abs=0.01)
        assert rate == pytest.approx(RATE / workers, rel=0.05)

    @pytest.mark.more
    def test_with_the_correction_is_the_one_that_was_asked_for(self) -> None:
        optimizer = {"name": "sgd", "momentum": 0.8, "momentum_correction": True}
        mu, _ = fitted(4, optimizer, lags=2)
        assert mu == pytest.approx(0.8, abs=0.01)


RATE, EVENTS = 0.2, {2: 6000, 4: 6000, 8: 12_000}


class Noisy(Quadratic):
    """x^2 / 2 in 64 dimensions, from its minimum, with noise that keeps it moving."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        zero = torch.zeros(64, dtype=torch.float64)
        super().__init__(spec, rank, zero.clone(), torch.ones_like(zero), zero, noise=1.0)


def fitted(workers: int, optimizer: dict[str, Any], lags: int) -> tuple[float, float]:
    """mu and c of d_t = mu d_(t-1) (+ nu d_(t-2)) - c x_t over a long run. Noise stands in d_(t-1), too, so plain least squares
    would be biased: earlier places serve as instruments."""
    places: list[Tensor] = []

    class Watched(Async, frozen=True):
        def apply(self, s: ShardSide, us: Updates) -> None:
            super().apply(s, us)
            places.append(s.theta.clone())

    spec = job({"name": "async", "lr": RATE}, workers=workers, optimizer=optimizer)
    spec = spec.model_copy(update={"strategy": Watched(lr=RATE)})
    sim.run(spec, Noisy, events=EVENTS[workers], schedule="random", seed=1)
    x = torch.stack(places)
    d, t = x[1:] - x[:-1], torch.arange(10, EVENTS[workers] - 1)
    causes = [*(d[t - lag] for lag in range(1, lags + 1)), -x[t]]
    instruments = [x[t - 1 - k] for k in range(len(causes) + 3)]
    moments = torch.tensor([[float((z * cause).mean()) for cause in causes] for z in instruments])
    effects = torch.tensor([[float((z * d[t]).mean())] for z in instruments])
    mu, *_, rate = torch.linalg.lstsq(moments, effects).solution[:, 0].tolist()
    return mu, rate
