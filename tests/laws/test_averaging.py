"""Averages of parameters: local SGD, FedAvg, FedProx, DiLoCo and its delayed form (cards 2.3, 2.14, 2.15)."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream.sim.toys import NoisyToy, Toy, job
from gradstream.spec import Stop
from tests.laws.driver import Driver
from tests.laws.problems import Slope, close, serial
from tests.unit.strategies import plain
from tests.unit.strategies.fit import Fits, network

OUTER_MEAN = {"server": {"optimizer": {"name": "sgd", "lr": 1.0}}}


def local(workers: int = 2, steps: int = 12, name: str = "local_sgd", **more: Any) -> Any:
    settings = {key: more.pop(key) for key in list(more) if key in ("window", "switch", "inner", "epochs", "mu", "k", "lr")}
    return job({"name": name, "lr": 0.005, **settings}, workers=workers, steps=steps, **more)


class TestLocalSgd:
    def test_with_window_1_it_is_synchronous_sgd(self, driver: Driver) -> None:
        averaged, sync = (driver.run(local(4, window=1), NoisyToy), driver.run(local(4, name="sync"), NoisyToy))
        close(averaged.center, sync.center)
        assert averaged.version == sync.version == 12

    def test_one_shot_is_the_mean_of_what_each_has_found_alone(self, driver: Driver) -> None:
        run = driver.run(local(3, window=None), NoisyToy)
        alone = [serial(NoisyToy(local(), rank), 12, 0.005) for rank in range(3)]
        assert run.version == 1
        close(run.center, sum(alone) / 3)

    def test_a_window_longer_than_the_run_is_one_shot(self, driver: Driver) -> None:
        assert torch.equal(driver.run(local(window=99), NoisyToy).center, driver.run(local(window=None), NoisyToy).center)

    def test_identical_workers_get_what_one_gets(self, driver: Driver) -> None:
        close(driver.run(local(4, window=3), Toy).center, serial(Toy(local(), 0), 12, 0.005), 1e-14)

    def test_a_mean_is_of_this_round_only(self, driver: Driver) -> None:
        """dist-keras never empties the sum of the round before."""
        for fold in driver.run(local(3, window=2, lr=0.01), NoisyToy).folds:
            close(fold.after, sum(fold.before - u.x for u in fold.updates) / 3)

    def test_the_mean_is_weighted_by_examples(self, driver: Driver) -> None:
        """Shares of 15, 14 and 14 examples, all in one round: so weigh what their workers have found."""
        fits = Fits(examples=43, dtype=torch.float64)
        spec = job({"name": "local_sgd", "lr": 0.1, "window": None}, workers=3, batch_size=4)
        run = driver.run(spec.model_copy(update={"stop": Stop(epochs=1)}), fits)
        assert [u.examples for u in run.folds[0].updates] == [15, 14, 14]
        alone = [plain.train(network(torch.float64), fits.workloads[rank].taken, sgd) for rank in range(3)]
        close(run.center, (15 * alone[0] + 14 * alone[1] + 14 * alone[2]) / 43)

    def test_post_local_begins_with_window_1(self, driver: Driver) -> None:
        run = driver.run(local(2, 20, window=5, switch=6), NoisyToy)
        assert [decision.steps for decision in run.decisions if decision.rank == 0] == [1] * 6 + [5, 5, 4]

    @pytest.mark.parametrize("inner", ["keep", "reset", "average"])
    @pytest.mark.parametrize("optimizer", [{"name": "sgd", "momentum": 0.9}, {"name": "adam"}], ids=lambda o: o["name"])
    def test_what_an_average_does_to_momentum(self, optimizer: dict[str, Any], inner: str, driver: Driver) -> None:
        fits = Fits(examples=64, dtype=torch.float64)
        spec = job(
            {"name": "local_sgd", "lr": 0.05, "window": 3, "inner": inner}, workers=2, batch_size=8, steps=11, optimizer=optimizer
        )
        run = driver.run(spec, fits)
        close(run.center, averaged(fits, optimizer, inner), 1e-11)


def sgd(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1)


def averaged(fits: Fits, optimizer: dict[str, Any], inner: str) -> Tensor:
    """Local SGD of two workers with window 3, as one would write it with torch.optim."""
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer["name"]]
    more = {key: value for key, value in optimizer.items() if key != "name"}
    models = [network(torch.float64) for _ in range(2)]
    optimizers = [make(model.parameters(), lr=0.05, **more) for model in models]
    batches = [list(fits.workloads[rank].taken) for rank in range(2)]
    while batches[0]:
        if inner == "reset":
            optimizers = [make(model.parameters(), lr=0.05, **more) for model in models]
        for model, steps, taken in zip(models, optimizers, batches, strict=True):
            for inputs, targets in taken[:3]:
                steps.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                steps.step()
            del taken[:3]
        for pair in zip(*(model.parameters() for model in models), strict=True):
            mean = (pair[0].detach() + pair[1].detach()) / 2
            for parameter in pair:
                parameter.data.copy_(mean)
            if inner == "average":
                states = [steps.state[parameter] for steps, parameter in zip(optimizers, pair, strict=True)]
                for name in {"momentum_buffer", "exp_avg", "exp_avg_sq"} & states[0].keys():
                    mean = (states[0][name] + states[1][name]) / 2
                    for state in states:
                        state[name].copy_(mean)
    return nn.utils.parameters_to_vector(models[0].parameters()).detach()


class TestFederated:
    def test_fedavg_with_equal_shares_is_local_sgd_over_an_epoch(self, driver: Driver) -> None:
        runs = [
            driver.run(job({"lr": 0.1, **strategy}, workers=3, batch_size=4, steps=8), Fits(examples=48))
            for strategy in ({"name": "fedavg", "epochs": 1}, {"name": "local_sgd", "window": 4})
        ]
        assert runs[0].version == 2
        assert torch.equal(runs[0].center, runs[1].center)

    def test_an_epoch_is_that_of_the_workers_own_share(self, driver: Driver) -> None:
        run = driver.run(job({"name": "fedavg", "lr": 0.1, "epochs": 2}, workers=3, batch_size=4, steps=9), Fits(examples=43))
        assert [u.examples for u in run.folds[0].updates] == [30, 28, 28]
        assert [u.steps for u in run.folds[0].updates] == [8, 8, 8]

    def test_one_pass_in_one_batch_is_full_batch_training(self, driver: Driver) -> None:
        fits = Fits(examples=43, dtype=torch.float64)
        run = driver.run(job({"name": "fedavg", "lr": 0.1}, workers=3, batch_size=64, steps=5), fits)
        assert [len(x) for x, _ in fits.rounds()] == [43] * 5
        close(run.center, plain.train(network(torch.float64), fits.rounds(), sgd))

    def test_fedprox_without_a_pull_is_fedavg_bit_for_bit(self, driver: Driver) -> None:
        runs = [
            driver.run(local(3, name=name, epochs=4, **more), NoisyToy) for name, more in (("fedavg", {}), ("fedprox", {"mu": 0}))
        ]
        assert torch.equal(runs[0].center, runs[1].center)

    def test_fedprox_with_a_strong_pull_stays_at_the_center(self, driver: Driver) -> None:
        """Along a slope of 1, k steps of lr (1 + mu (x - c)) end (1 - (1 - lr mu)^k) / mu away from it."""
        for mu in (1.0, 10.0, 100.0):
            run = driver.run(local(2, 4, name="fedprox", epochs=4, mu=mu, lr=0.01), Slope)
            assert run.center.item() == pytest.approx(-(1 - (1 - 0.01 * mu) ** 4) / mu, abs=1e-14)

    @pytest.mark.parametrize("share", [0.1, 0.3, 0.34, 0.5, 1.0])
    def test_a_cohort_is_the_share_rounded_up(self, share: float, driver: Driver) -> None:
        gate = {"mode": "bsp", "cohort": share}
        run = driver.run(local(7, 6, name="fedavg", epochs=1, gate=gate), NoisyToy, free=True)
        until = min(number for number, fold in enumerate(run.folds) if sum(taken(run, number).values()) > 6 * 7 / 2)
        assert {len(fold.updates) for fold in run.folds[:until]} == {math.ceil(share * 7)}
        assert set(taken(run, len(run.folds)).values()) == {6}

    def test_fedavgm_is_momentum_on_the_server(self, driver: Driver) -> None:
        roles = {"server": {"optimizer": {"name": "sgd", "lr": 1.0, "momentum": 0.5}}}
        spec = job({"name": "fedavg", "lr": 0.01, "epochs": 3}, workers=2, steps=12, roles={**roles, "worker": {"count": 2}})
        velocity = torch.zeros(2, dtype=torch.float64)
        for fold in driver.run(spec, NoisyToy).folds:
            velocity = 0.5 * velocity + sum(u.x for u in fold.updates) / 2
            close(fold.after, fold.before - velocity)


def taken(run: Any, folds: int) -> dict[int, int]:
    """Mini-batches of each rank in so many folds."""
    counts: dict[int, int] = {}
    for fold in run.folds[:folds]:
        for u in fold.updates:
            counts[u.rank] = counts.get(u.rank, 0) + u.steps
    return counts


class TestDiLoCo:
    def of(self, name: str, workers: int = 3, steps: int = 12, roles: dict[str, Any] | None = None, **more: Any) -> Any:
        settings = {key: more.pop(key) for key in list(more) if key in ("window", "k", "lr")}
        given = {**(roles or {}), "worker": {"count": workers}}
        return job({"name": name, "lr": 0.005, "window": 3, **settings}, steps=steps, roles=given, **more)

    def test_with_an_outer_rate_of_1_and_no_momentum_it_is_local_sgd(self, driver: Driver) -> None:
        diloco = driver.run(self.of("diloco", roles=OUTER_MEAN), NoisyToy)
        assert torch.equal(diloco.center, driver.run(self.of("local_sgd"), NoisyToy).center)

    def test_and_with_window_1_synchronous_sgd(self, driver: Driver) -> None:
        diloco = driver.run(self.of("diloco", window=1, roles=OUTER_MEAN), NoisyToy)
        close(diloco.center, driver.run(local(3, name="sync"), NoisyToy).center)

    def test_its_outer_steps_are_nesterovs(self, driver: Driver) -> None:
        """The first one moves 0.7 (1 + 0.9) d."""
        folds = driver.run(self.of("diloco"), NoisyToy).folds
        d = sum(u.x for u in folds[0].updates) / 3
        close(folds[0].after - folds[0].before, -0.7 * 1.9 * d)
        b = torch.zeros(2, dtype=torch.float64)
        for fold in folds:
            d = sum(u.x for u in fold.updates) / 3
            b = 0.9 * b + d
            close(fold.after, fold.before - 0.7 * (d + 0.9 * b))

    def test_the_inner_optimizer_keeps_its_state(self, driver: Driver) -> None:
        """Adam's counter goes on over rounds: its first steps of a new round are not those of a new Adam."""
        inner = {"name": "adam"}
        kept = driver.run(self.of("diloco", roles=OUTER_MEAN, optimizer=inner), NoisyToy)
        local_sgd = [driver.run(local(3, window=3, inner=state, optimizer=inner), NoisyToy) for state in ("keep", "reset")]
        assert torch.equal(kept.center, local_sgd[0].center)
        assert not torch.allclose(kept.center, local_sgd[1].center)

    @pytest.mark.parametrize("workers", [1, 3, 4])
    def test_delayed_by_n_pushes_and_in_lockstep_it_is_diloco(self, workers: int, driver: Driver) -> None:
        delayed = driver.run(self.of("delayed_diloco", workers, gate={"ssp": 0}), NoisyToy, free=True)
        diloco = driver.run(self.of("diloco", workers), NoisyToy)
        close(delayed.center, diloco.center)
        assert delayed.version == diloco.version == 4

    def test_delayed_gathers_k_and_shows_the_rest_as_deferred(self, driver: Driver) -> None:
        run = driver.run(self.of("delayed_diloco", 3, k=4), NoisyToy, free=True)
        assert [decision.outcome for decision in run.decisions] == (["deferred"] * 3 + ["applied"]) * 3
        assert run.version == 3
        for number, fold in enumerate(run.folds):
            assert torch.equal(fold.before, fold.after) == ((number + 1) % 4 != 0)
