"""Synchronous SGD, and with backup workers (cards 2.1 and 2.2)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream.sim.toys import Bowl, NoisyToy, Toy, job
from gradstream.spec import Stop
from tests.laws.driver import Driver
from tests.laws.problems import close
from tests.unit.strategies import plain
from tests.unit.strategies.fit import Fits, network

OPTIMIZERS: list[tuple[dict[str, Any], Any]] = [
    ({"name": "sgd"}, lambda p: torch.optim.SGD(p, lr=0.1)),
    ({"name": "sgd", "momentum": 0.9, "weight_decay": 0.01}, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)),
    ({"name": "sgd", "momentum": 0.9, "nesterov": True}, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    ({"name": "adagrad"}, lambda p: torch.optim.Adagrad(p, lr=0.1)),
    ({"name": "adam"}, lambda p: torch.optim.Adam(p, lr=0.1)),
    ({"name": "adamw"}, lambda p: torch.optim.AdamW(p, lr=0.1)),
]
every_optimizer = pytest.mark.parametrize(
    ("optimizer", "torchs"), OPTIMIZERS, ids=lambda o: str(o.get("name")) if isinstance(o, dict) else ""
)


class TestOneWorker:
    @pytest.mark.few(15)
    @every_optimizer
    @pytest.mark.parametrize("strategy", ["sync", "async", "downpour", "dc_asgd", "single"])
    def test_has_the_bits_of_torch_optim(self, strategy: str, optimizer: dict[str, Any], torchs: Any, driver: Driver) -> None:
        fits = Fits(examples=50)
        run = driver.run(job({"name": strategy, "lr": 0.1}, optimizer=optimizer, batch_size=8, steps=30), fits)
        assert run.samples == sum(len(x) for x, _ in fits.workloads[0].taken)
        assert torch.equal(run.center, plain.train(network(), fits.workloads[0].taken, torchs))

    @every_optimizer
    @pytest.mark.parametrize("window", [3, 50])
    def test_single_does_so_with_any_window(self, window: int, optimizer: dict[str, Any], torchs: Any, driver: Driver) -> None:
        fits = Fits(examples=50)
        spec = job({"name": "single", "lr": 0.1, "window": window}, optimizer=optimizer, batch_size=8, steps=30)
        run = driver.run(spec, fits)
        expected = plain.train(network(), fits.workloads[0].taken, torchs)
        assert torch.equal(run.center, expected)
        assert torch.equal(run.workers[0], expected)
        assert sum(decision.steps for decision in run.decisions) == 30

    @pytest.mark.parametrize("optimizer", [0, 4])
    def test_pushing_differences_is_torch_optim_within_rounding(self, optimizer: int, driver: Driver) -> None:
        settings, torchs = OPTIMIZERS[optimizer]
        fits = Fits(examples=50, dtype=torch.float64)
        spec = job({"name": "adag", "window": 1, "lr": 0.1}, optimizer=settings, batch_size=8, steps=30)
        center = driver.run(spec, fits).center
        close(center, plain.train(network(torch.float64), fits.workloads[0].taken, torchs))


class TestManyWorkers:
    @pytest.mark.parametrize("workers", [2, 3, 5])
    @pytest.mark.parametrize("optimizer", [0, 1, 4])
    def test_batch_b_each_is_batch_n_times_b(self, workers: int, optimizer: int, driver: Driver) -> None:
        settings, torchs = OPTIMIZERS[optimizer]
        fits = Fits(examples=40 * workers, dtype=torch.float64)
        spec = job({"name": "sync", "lr": 0.1}, workers=workers, optimizer=settings, batch_size=8, steps=12)
        run = driver.run(spec, fits, free=True)
        assert {len(x) for x, _ in fits.rounds()} == {8 * workers}
        assert set(run.staleness) == {0}
        close(run.center, plain.train(network(torch.float64), fits.rounds(), torchs))

    def test_in_float32_within_1e_5(self, driver: Driver) -> None:
        fits = Fits(examples=120)
        center = driver.run(job({"name": "sync", "lr": 0.1}, workers=3, batch_size=8, steps=12), fits).center
        torch.testing.assert_close(center, plain.train(network(), fits.rounds(), OPTIMIZERS[0][1]), rtol=1e-5, atol=1e-6)

    def test_unequal_batches_are_weighted(self, driver: Driver) -> None:
        """43 examples for 3 workers in batches of 4: shares of 15, 14 and 14 end with batches of 3, 2 and 2."""
        fits = Fits(examples=43, dtype=torch.float64)
        spec = job({"name": "sync", "lr": 0.1}, workers=3, batch_size=4, steps=8)
        center = driver.run(spec, fits).center
        assert [len(x) for x, _ in fits.rounds()] == [12, 12, 12, 7, 12, 12, 12, 7]
        close(center, plain.train(network(torch.float64), fits.rounds(), OPTIMIZERS[0][1]))

    def test_who_has_no_data_left_is_not_waited_for(self, driver: Driver) -> None:
        """Shares of 5, 4 and 4 in batches of 2: the first worker makes the last round alone."""
        fits = Fits(examples=13, dtype=torch.float64)
        spec = job({"name": "sync", "lr": 0.1}, workers=3, batch_size=2).model_copy(update={"stop": Stop(epochs=1)})
        run = driver.run(spec, fits)
        assert [len(x) for x, _ in fits.rounds()] == [6, 6, 1]
        close(run.center, plain.train(network(torch.float64), fits.rounds(), OPTIMIZERS[0][1]))
        assert run.samples == 13

    @pytest.mark.parametrize("strategy", ["sync", "adag", "local_sgd", "diloco", "easgd", "geo"])
    def test_any_order_of_arrival_gives_the_same_bits(self, strategy: str, driver: Driver) -> None:
        spec = job({"name": strategy, "lr": 0.01, **({} if strategy == "sync" else {"window": 3})}, workers=5, gate="bsp", steps=12)
        even, *others = (driver.run(spec, Bowl, free=free, **how) for free, how in ORDERS)
        for other in others:
            assert torch.equal(even.center, other.center)
            assert [decision.rank for decision in other.decisions] == [decision.rank for decision in even.decisions]
        assert set(even.staleness) == {0}


ORDERS: list[tuple[bool, dict[str, Any]]] = [
    (False, {}),
    (False, {"schedule": "random", "seed": 1}),
    (False, {"schedule": "random", "seed": 2}),
    (True, {}),
]


class TestBackupWorkers:
    def test_none_to_spare_is_sync(self, driver: Driver) -> None:
        of_all, of_quorum = (
            driver.run(job({"name": "sync", "lr": 0.01}, workers=4, steps=12, gate=gate), NoisyToy, schedule="random")
            for gate in ("bsp", {"mode": "bsp", "quorum": 4})
        )
        assert torch.equal(of_all.center, of_quorum.center)

    @pytest.mark.parametrize("quorum", [1, 2, 3])
    def test_a_round_is_of_the_first_k_distinct_workers_and_others_change_nothing(self, quorum: int, driver: Driver) -> None:
        spec = job({"name": "sync", "lr": 0.002}, workers=4, steps=20, gate={"mode": "bsp", "quorum": quorum})
        run = driver.run(spec, NoisyToy, free=True)
        assert all(len({u.rank for u in fold.updates}) == len(fold.updates) <= quorum for fold in run.folds)
        dropped = [decision for decision in run.decisions if decision.outcome == "dropped"]
        assert dropped
        assert len(dropped) == sum(account.dropped for account in run.accounts.values())
        assert run.version == len(run.folds)
        for fold, following in zip(run.folds, run.folds[1:], strict=False):
            assert torch.equal(fold.after, following.before), "only a round changes the center"
        for fold in run.folds:
            mean = sum(u.x * u.examples for u in fold.updates) / sum(u.examples for u in fold.updates)
            close(fold.after, fold.before - 0.002 * mean)

    @pytest.mark.parametrize("spare", [1, 2])
    def test_workers_of_equal_speed_lose_b_of_n(self, spare: int, driver: Driver) -> None:
        """And they are always the same ones: what they hold is never learned."""
        spec = job({"name": "sync", "lr": 0.01}, workers=4, steps=10, gate={"mode": "bsp", "quorum": 4 - spare})
        run = driver.run(spec, Toy)
        dropped = {rank: account.dropped for rank, account in run.accounts.items() if account.dropped}
        assert dropped.keys() == set(range(4 - spare, 4))
        assert set(dropped.values()) <= {9, 10}, "the last one may find nobody before it"
