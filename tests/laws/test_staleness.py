"""Asynchronous SGD, its gates, and what compensates its delay (cards 2.10 to 2.12, 2.16, 2.17; section 1)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream.sim.toys import NoisyToy, Toy, job
from gradstream.strategies.base import ShardSide, Updates
from gradstream.strategies.dc_asgd import DcAsgd
from tests.laws.driver import Driver
from tests.laws.problems import close, serial
from tests.laws.test_windows import with_bases


def gradients(workers: int = 4, steps: int = 20, gate: Any = "asp", lr: float = 0.002, name: str = "async", **more: Any) -> Any:
    strategy = {"name": name, "lr": lr, **more.pop("strategy", {})}
    return job(strategy, workers=workers, steps=steps, gate=gate, **more)


class TestStaleness:
    def test_closed_and_open_counts_are_what_others_did(self, driver: Driver) -> None:
        """Each commit opens a count in the n - 1 other windows; a worker's own commit closes its count."""
        run = driver.run(gradients(), NoisyToy, free=True)
        last = {decision.rank: at for at, decision in enumerate(run.decisions)}
        still_open = sum(len(run.decisions) - 1 - at for at in last.values())
        assert sum(run.staleness) + still_open == 3 * len(run.decisions)

    def test_every_push_is_accounted_for(self, driver: Driver) -> None:
        run = driver.run(gradients(gate={"max_staleness": 2}), NoisyToy, free=True)
        for rank, account in run.accounts.items():
            outcomes = [decision.outcome for decision in run.decisions if decision.rank == rank]
            assert (account.pushed, account.pending) == (20, 0)
            assert (account.applied, account.dropped) == (outcomes.count("applied"), outcomes.count("dropped"))
        assert run.version == sum(account.applied for account in run.accounts.values()) == len(run.folds)

    def test_in_turn_it_is_n_minus_1(self, driver: Driver) -> None:
        run = driver.run(gradients(6, 5), Toy)
        assert run.staleness == [0, 1, 2, 3, 4, *[5] * 25]


class TestOverlappingRounds:
    def test_one_worker_descends_along_the_gradient_before(self, driver: Driver) -> None:
        """x_{t+1} = x_t - lr f'(x_{t-1}): its own push is what makes it stale."""
        spec = gradients(1, 12, lr=0.01, pipeline=1)
        run = driver.run(spec, Toy)
        toy = Toy(spec, 0)
        x, before = toy.theta.clone(), toy.theta.clone()
        for t in range(12):
            toy.theta.copy_(before)
            x, before = x.add(toy.gradient(t).g, alpha=-0.01), x
        assert run.staleness == [0, *[1] * 11]
        assert torch.equal(run.center, x)

    def test_each_worker_adds_its_own_push_to_those_of_others(self, driver: Driver) -> None:
        plain, overlapping = (driver.run(gradients(4, 8, pipeline=pipeline), Toy) for pipeline in (0, 1))
        assert plain.staleness[-12:] == [3] * 12
        assert overlapping.staleness[-12:] == [7] * 12
        assert {account.pushed for account in overlapping.accounts.values()} == {8}

    def test_any_number_of_shards_here_and_elsewhere_has_the_same_bits(self, driver: Driver) -> None:
        one, three = (driver.run(gradients(3, 9, pipeline=1, shards=shards), NoisyToy, schedule="random") for shards in (1, 3))
        assert torch.equal(one.center, three.center)


class TestRingmaster:
    @pytest.mark.parametrize("bound", [1, 2, 3, 4])
    def test_what_is_dropped_does_not_advance_the_version(self, bound: int, driver: Driver) -> None:
        run = driver.run(gradients(4, 10, {"max_staleness": bound}), Toy)
        assert (run.version, len(run.staleness), len(run.decisions)) == (10 * bound, 10 * bound, 40)
        assert max(run.staleness) < bound
        assert sum(account.dropped for account in run.accounts.values()) == 40 - 10 * bound

    def test_a_bound_of_1_is_serial_training_by_whoever_is_first(self, driver: Driver) -> None:
        run = driver.run(gradients(4, 10, {"max_staleness": 1}, lr=0.01), Toy)
        assert torch.equal(run.center, serial(Toy(gradients(), 0), 10, 0.01))

    def test_a_bound_that_nobody_reaches_is_asp(self, driver: Driver) -> None:
        bound, free = (driver.run(gradients(gate=gate), NoisyToy, schedule="random") for gate in ({"max_staleness": 99}, "asp"))
        assert torch.equal(bound.center, free.center)


class TestSsp:
    @pytest.mark.parametrize("bound", [0, 1, 3])
    @pytest.mark.parametrize("name", ["async", "adag", "easgd"])
    def test_nobody_is_further_ahead_than_the_bound(self, name: str, bound: int, driver: Driver) -> None:
        run = driver.run(gradients(4, 25, {"ssp": bound}, name=name), NoisyToy, free=True)
        clocks = dict.fromkeys(range(4), 0)
        total = {rank: sum(decision.rank == rank for decision in run.decisions) for rank in clocks}
        for decision in run.decisions:
            clocks[decision.rank] += 1
            here = [clock for rank, clock in clocks.items() if clock < total[rank]]  # who has left holds nobody back
            assert clocks[decision.rank] - min(here, default=clocks[decision.rank]) <= bound + 1

    @pytest.mark.parametrize("free", [False, True])
    def test_a_bound_of_0_is_a_full_clock_at_once(self, free: bool, driver: Driver) -> None:
        """All of a clock are computed from the same center and added: synchronous SGD with the sum in place of the mean."""
        run = driver.run(gradients(4, 15, {"ssp": 0}), NoisyToy, free=free, schedule="random")
        sync = driver.run(gradients(4, 15, "bsp", name="sync", lr=0.008), NoisyToy)
        ranks = [decision.rank for decision in run.decisions]
        assert all(sorted(ranks[at : at + 4]) == [0, 1, 2, 3] for at in range(0, 60, 4))
        close(run.center, sync.center)

    def test_without_end_it_is_asp(self, driver: Driver) -> None:
        ssp, asp = (driver.run(gradients(gate=gate), NoisyToy, schedule="random") for gate in ({"ssp": 10**6}, "asp"))
        assert torch.equal(ssp.center, asp.center)
        assert ssp.decisions == asp.decisions


class TestDcAsgd:
    def test_without_strength_it_is_async_bit_for_bit(self, driver: Driver) -> None:
        compensated, plain = (
            driver.run(gradients(name=name, strategy=more), NoisyToy, schedule="random")
            for name, more in (("dc_asgd", {"lam": 0}), ("async", {}))
        )
        assert torch.equal(compensated.center, plain.center)

    @pytest.mark.parametrize("adaptive", [False, True])
    def test_without_staleness_it_is_serial_bit_for_bit(self, adaptive: bool, driver: Driver) -> None:
        run = driver.run(gradients(1, 15, name="dc_asgd", strategy={"adaptive": adaptive}), NoisyToy)
        assert torch.equal(run.center, serial(NoisyToy(gradients(), 0), 15, 0.002))

    def test_each_worker_is_compensated_from_what_it_had_pulled_itself(self, driver: Driver) -> None:
        run = driver.run(gradients(3, 15, name="dc_asgd", lr=0.01), NoisyToy, schedule="random", speeds=[1, 2, 0.5])
        assert compensated(run) == []

    def test_one_copy_for_all_workers_is_another_algorithm(self, driver: Driver) -> None:
        """MXNet keeps a single one, of the last push: the law above must see that."""

        class OneCopy(DcAsgd, frozen=True):
            def apply(self, s: ShardSide, us: Updates) -> None:
                for u in us:
                    previous = s.slot("previous")
                    s.descend(u.x + self.lam * u.x * u.x * (s.theta - previous))
                    previous.copy_(s.theta)

        spec = gradients(3, 15, name="dc_asgd", lr=0.01)
        wrong = spec.model_copy(update={"strategy": OneCopy(lr=0.01)})
        assert len(compensated(driver.run(wrong, NoisyToy, schedule="random", speeds=[1, 2, 0.5]))) > 20

    def test_adaptive_strength_is_divided_by_the_root_mean_square_of_gradients(self, driver: Driver) -> None:
        settings = {"adaptive": True, "lam": 2.0, "decay": 0.9, "eps": 1e-6}
        run = driver.run(gradients(3, 15, name="dc_asgd", lr=0.01, strategy=settings), NoisyToy, schedule="random")
        square = torch.zeros(2, dtype=torch.float64)
        for fold, base in with_bases(run):
            g = fold.updates[0].x
            square = 0.9 * square + 0.1 * g * g
            lam = 2.0 / (square + 1e-6).sqrt()
            close(fold.after, fold.before - 0.01 * (g + lam * g * g * (fold.before - base)))


def compensated(run: Any) -> list[int]:
    """The folds that do not follow the paper's rule, each from its own worker's base."""
    wrong = []
    for number, (fold, base) in enumerate(with_bases(run)):
        g = fold.updates[0].x
        expected = fold.before - 0.01 * (g + 0.04 * g * g * (fold.before - base))
        if not torch.allclose(fold.after, expected, rtol=0, atol=1e-12):
            wrong.append(number)
    return wrong


class TestServerOptimizer:
    @pytest.mark.parametrize("optimizer", [{"name": "sgd", "momentum": 0.9}, {"name": "adam"}, {"name": "adagrad"}], ids=str)
    def test_makes_one_step_for_each_push_that_counts(self, optimizer: dict[str, Any], driver: Driver) -> None:
        """Adam's counter must not run with pushes that are dropped, nor twice for one: torch.optim, fed what was folded, agrees."""
        run = driver.run(gradients(gate={"max_staleness": 2}, optimizer=optimizer), NoisyToy, free=True)
        theta = torch.nn.Parameter(run.folds[0].before.clone())
        made = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adagrad": torch.optim.Adagrad}[optimizer["name"]]
        plain = made([theta], lr=0.002, **{key: value for key, value in optimizer.items() if key != "name"})
        for fold in run.folds:
            theta.grad = fold.updates[0].x
            plain.step()
            assert torch.equal(theta.detach(), fold.after)

    def test_momentum_correction_changes_nothing_for_one_worker(self, driver: Driver) -> None:
        one, other = (
            driver.run(gradients(1, optimizer={"name": "sgd", "momentum": 0.9, "momentum_correction": on}), NoisyToy)
            for on in (True, False)
        )
        assert torch.equal(one.center, other.center)

    @pytest.mark.parametrize(("workers", "effective"), [(2, 0.4), (4, 0.15), (16, -0.0375)])
    def test_momentum_correction_takes_off_1_minus_1_over_n(self, workers: int, effective: float, driver: Driver) -> None:
        run = driver.run(
            gradients(workers, 4, optimizer={"name": "sgd", "momentum": 0.9, "momentum_correction": True}), NoisyToy, free=True
        )
        velocity = torch.zeros(2, dtype=torch.float64)
        for fold in run.folds:
            velocity = effective * velocity + fold.updates[0].x
            close(fold.after, fold.before - 0.002 * velocity)
