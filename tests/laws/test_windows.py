"""Windows of local steps: DOWNPOUR, ADAG, DynSGD, the distance rule, GEO (cards 2.6 to 2.9, 2.13)."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from gradstream.sim.toys import NoisyToy, Toy, job
from gradstream.strategies.adag import Adag
from gradstream.strategies.base import ServerSide, WorkerSide
from tests.laws.driver import Driver, Run
from tests.laws.problems import Slope, close, serial, slopes, vector


def steps_of(run: Run, rank: int = 0) -> list[int]:
    return [decision.steps for decision in run.decisions if decision.rank == rank]


class TestDownpour:
    def test_with_one_worker_is_serial_whatever_the_window(self, driver: Driver) -> None:
        run = driver.run(job({"name": "downpour", "n_push": 5, "n_fetch": 5, "lr": 0.01}, steps=13), Toy)
        assert steps_of(run) == [5, 5, 3]
        close(run.center, serial(Toy(job({"name": "async"}), 0), 13, 0.01))

    def test_pushing_the_difference_or_the_sum_of_gradients_is_the_same(self, driver: Driver) -> None:
        class Delta(Adag, frozen=True):
            def round(self, w: WorkerSide, ps: ServerSide) -> None:
                ps.pull(w.theta)
                base = w.theta.clone()
                w.local(self.window)
                ps.push(base - w.theta)

        downpour = job({"name": "downpour", "n_push": 5, "n_fetch": 5, "lr": 0.002}, workers=4, steps=40)
        delta = downpour.model_copy(update={"strategy": Delta(window=5, lr=0.002)})
        sums, differences = (driver.run(spec, NoisyToy, schedule="random") for spec in (downpour, delta))
        torch.testing.assert_close(sums.center, differences.center, rtol=1e-11, atol=0)

    def test_pushes_and_fetches_at_intervals_of_their_own(self, driver: Driver) -> None:
        run = driver.run(job({"name": "downpour", "n_push": 1, "n_fetch": 4, "lr": 0.01}, steps=10), Toy)
        assert run.version == 10
        assert run.staleness == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
        assert steps_of(run) == [1] * 10

    @pytest.mark.parametrize(("n_push", "n_fetch"), [(3, 2), (2, 3), (4, 4)])
    def test_what_was_accrued_is_the_sum_of_all_gradients_since_the_last_push(
        self, n_push: int, n_fetch: int, driver: Driver
    ) -> None:
        run = driver.run(job({"name": "downpour", "n_push": n_push, "n_fetch": n_fetch, "lr": 0.1}, workers=2, steps=11), Slope)
        for fold in run.folds:
            close(fold.updates[0].x, vector(fold.updates[0].steps))
        assert steps_of(run) == steps_of(run, 1) == [n_push] * (11 // n_push) + ([11 % n_push] if 11 % n_push else [])

    def test_adagrad_on_a_constant_gradient_makes_steps_of_1_over_root_t(self, driver: Driver) -> None:
        run = driver.run(job({"name": "downpour", "lr": 0.1}, optimizer={"name": "adagrad"}, steps=9), Slope)
        assert [-move.item() for move in run.moves] == pytest.approx([0.1 / math.sqrt(t) for t in range(1, 10)], rel=1e-6)

    def test_warm_start_is_one_worker_alone_until_the_samples_are_reached(self, driver: Driver) -> None:
        gate = {"mode": "asp", "warm_start": 160}
        run = driver.run(job({"name": "downpour", "lr": 0.001}, workers=3, steps=12, gate=gate), NoisyToy, schedule="random")
        assert [decision.rank for decision in run.decisions[:5]] == [0] * 5
        assert {decision.rank for decision in run.decisions[5:]} == {0, 1, 2}
        assert sum(run.staleness[:5]) == 0


class TestAdag:
    def test_the_partial_last_window_is_sent_and_divided_by_its_own_length(self, driver: Driver) -> None:
        run = driver.run(job({"name": "adag", "window": 5, "lr": 0.01}, steps=13), Toy)
        assert steps_of(run) == [5, 5, 3]
        toy = Toy(job({"name": "async"}), 0)
        center = toy.theta.clone()
        for window in (5, 5, 3):
            toy.theta.copy_(center)
            center = center + (serial(toy, window, 0.01) - center) / window
        close(run.center, center)

    def test_with_window_1_it_is_downpour_with_windows_1(self, driver: Driver) -> None:
        adag, downpour = (
            driver.run(job({"name": name, "lr": 0.01, **windows}, workers=4, steps=30), NoisyToy, schedule="random")
            for name, windows in (("adag", {"window": 1}), ("downpour", {}))
        )
        close(adag.center, downpour.center)

    @pytest.mark.parametrize("window", [1, 4, 15])
    def test_its_speed_does_not_depend_on_its_window(self, window: int, driver: Driver) -> None:
        run = driver.run(job({"name": "adag", "window": window, "lr": 0.25}, steps=8 * window), Slope)
        assert run.center.tolist() == [-2.0]


class TestDynSgd:
    def test_staleness_3_makes_a_quarter_step(self, driver: Driver) -> None:
        run = driver.run(job({"name": "dynsgd", "window": 1, "lr": 0.5}, workers=4, steps=3), Slope)
        assert run.staleness == [0, 1, 2, *[3] * 9]
        shares = [-0.5 / (s + 1) for s in run.staleness]
        assert [move.item() for move in run.moves] == pytest.approx(shares, abs=1e-15)
        assert run.moves[3].item() == pytest.approx(-0.125, abs=1e-15)

    @pytest.mark.parametrize("window", [1, 5])
    def test_alone_it_is_downpour(self, window: int, driver: Driver) -> None:
        run = driver.run(job({"name": "dynsgd", "window": window, "lr": 0.01}, steps=13), Toy)
        assert set(run.staleness) == {0}
        close(run.center, serial(Toy(job({"name": "async"}), 0), 13, 0.01))

    def test_every_push_is_divided_by_its_own_staleness(self, driver: Driver) -> None:
        run = driver.run(job({"name": "dynsgd", "window": 3, "lr": 0.005}, workers=4, steps=15), NoisyToy, free=True)
        for fold in run.folds:
            u = fold.updates[0]
            close(fold.after, fold.before - u.x / (u.staleness + 1), 1e-14)


class TestDistance:
    def spec(self, workers: int, steps: int, **more: Any) -> Any:
        return job({"name": "distance", "window": 2, "lr": 0.01, **more}, workers=workers, steps=steps)

    def test_alone_there_is_no_distance(self, driver: Driver) -> None:
        run = driver.run(self.spec(1, 13), Toy)
        close(run.center, serial(Toy(self.spec(1, 1), 0), 13, 0.01))

    def test_each_weight_counts_less_the_further_the_center_moved_there(self, driver: Driver) -> None:
        run = driver.run(self.spec(3, 12, gamma=1e-3), NoisyToy, schedule="random")
        for fold, base in with_bases(run):
            u = fold.updates[0]
            close(fold.before - fold.after, u.x / ((fold.before - base) ** 2 / 1e-3 + 1), 1e-15)
            assert bool(((fold.after - fold.before).abs() <= u.x.abs() + 1e-15).all())

    def test_distance_in_one_weight_scales_no_other(self, driver: Driver) -> None:
        """All push on weight 0, worker 1 alone on weight 1."""
        run = driver.run(self.spec(3, 12), slopes(lambda rank, position: vector(1.0, float(rank == 1))))
        late = [fold for fold in run.folds if fold.updates[0].rank == 1 and fold.updates[0].staleness]
        assert late
        for fold in late:
            moved = (fold.before - fold.after) / fold.updates[0].x
            assert moved[1].item() == pytest.approx(1, abs=1e-12)
            assert moved[0].item() < 0.5


def with_bases(run: Run) -> list[tuple[Any, torch.Tensor]]:
    """Each fold of one push with the center that its worker had pulled: the one after its own last push."""
    pulled: dict[int, torch.Tensor] = {}
    found = []
    for fold in run.folds:
        rank = fold.updates[0].rank
        found.append((fold, pulled.get(rank, run.folds[0].before)))
        pulled[rank] = fold.after
    return found


def geo(workers: int, steps: int, gate: Any = "bsp", **more: Any) -> Any:
    return job({"name": "geo", "window": 1, "lr": 0.05, **more}, workers=workers, steps=steps, gate=gate)


class TestGeo:
    def test_its_drift_warms_up_from_the_mean_to_the_sum_of_all(self, driver: Driver) -> None:
        run = driver.run(geo(4, 30), Slope)
        drift = [-move.item() for move in run.moves]
        assert drift[:4] == pytest.approx([0.05, 0.0875, 0.115625, 0.13671875], abs=1e-15)
        assert drift[:-1] == pytest.approx([0.2 * (1 - 0.75**r) for r in range(1, 30)], abs=1e-14)

    @pytest.mark.parametrize("delay", [0, 2])
    @pytest.mark.parametrize("gate", ["bsp", "asp"])
    def test_a_worker_alone_has_the_bits_of_serial_training(self, delay: int, gate: str, driver: Driver) -> None:
        spec = geo(1, 23, gate, window=5, delay=delay, lr=0.01)
        run = driver.run(spec, NoisyToy)
        assert torch.equal(run.workers[0], serial(NoisyToy(spec, 0), 23, 0.01))
        close(run.center, run.workers[0], 1e-14)

    @pytest.mark.parametrize("gate", ["bsp", "asp"])
    @pytest.mark.parametrize("steps", [8, 9, 10, 11, 12])
    @pytest.mark.parametrize(("window", "delay"), [(1, 0), (4, 0), (4, 1), (4, 3)])
    def test_nothing_is_lost_on_the_way(self, window: int, delay: int, steps: int, gate: str, driver: Driver) -> None:
        """In the end the center has moved by all that all workers did: steps made during a merge are not overwritten, and what
        was kept back is sent last, wherever the data ends."""
        run = driver.run(
            geo(3, steps, gate, window=window, delay=delay),
            slopes(lambda rank, position: vector(1.0 + rank, position)),
            schedule="random",
        )
        assert run.center[0].item() == pytest.approx(-0.05 * steps * 6, abs=1e-13)
        assert run.center[1].item() == pytest.approx(-0.05 * 3 * sum(range(steps)), abs=1e-13)
        assert all(sum(steps_of(run, rank)) == steps for rank in range(3))

    def test_merges_on_flat_ground_bring_all_workers_to_the_center(self, driver: Driver) -> None:
        """And conserve center + sum of (x_i - center), so that the center comes to the sum of what they had done."""
        run = driver.run(geo(4, 40), slopes(lambda rank, position: vector(float(rank + 1) if position == 0 else 0.0)))
        goal = -0.05 * 10
        left = [fold.after.item() - goal for fold in run.folds]
        assert left[:-1] == pytest.approx([0.5 * 0.75**r for r in range(1, 40)], abs=1e-14)
        for theta in run.workers.values():
            close(theta, run.center, 1e-14)
