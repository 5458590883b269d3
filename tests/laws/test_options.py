"""What a job may add to any strategy: schedules, clipping, averages for evaluation, BatchNorm."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream.sim.toys import NoisyToy, Toy, job
from tests.laws.driver import Driver
from tests.laws.problems import Slope, close, serial, slopes, vector
from tests.unit.strategies import plain
from tests.unit.strategies.fit import Fits, network

BATCH = 32
SCHEDULES: list[tuple[dict[str, Any], list[float]]] = [
    ({"name": "constant"}, [1, 1, 1, 1, 1, 1, 1]),
    ({"name": "constant", "warmup": 127}, [1 / 128, 33 / 128, 65 / 128, 97 / 128, 1, 1, 1]),
    ({"name": "step", "every": 64, "to": 0.5}, [1, 1, 0.5, 0.5, 0.25, 0.25, 0.125]),
    ({"name": "step", "every": 96, "to": 0.1, "warmup": 31}, [1 / 32, 1, 1, 0.1, 0.1, 0.1, 0.01]),
    ({"name": "cosine", "over": 128, "to": 0.2}, [1, 0.4 * math.sqrt(0.5) + 0.6, 0.6, 0.6 - 0.4 * math.sqrt(0.5), 0.2, 0.2, 0.2]),
]
"""And what each makes of the rate when 0, 32, 64, ... samples are seen, worked out by hand."""

ALONE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "single": ({"window": 4}, {}),
    "sync": ({}, {}),
    "async": ({}, {}),
    "dc_asgd": ({}, {}),
    "downpour": ({"n_push": 1, "n_fetch": 4}, {}),  # its server makes one step, at one rate, for each push
    "adag": ({"window": 1}, {}),
    "dynsgd": ({"window": 4}, {}),
    "distance": ({"window": 4}, {}),
    "easgd": ({"window": 4, "alpha": 0}, {}),
    "eamsgd": ({"window": 4, "alpha": 0, "delta": 0}, {}),
    "geo": ({"window": 4, "delay": 2}, {}),
    "local_sgd": ({"window": 4}, {}),
    "fedavg": ({"epochs": 4}, {}),
    "fedprox": ({"epochs": 4, "mu": 0}, {}),
    "diloco": ({"window": 4}, {"server": {"optimizer": {"name": "sgd", "lr": 1.0}}}),
    "delayed_diloco": ({"window": 4, "k": 1}, {"server": {"optimizer": {"name": "sgd", "lr": 1.0}}}),
}
"""Settings with which each strategy, with one worker, is plain serial training."""


class TestSchedules:
    @pytest.mark.parametrize(("schedule", "factors"), SCHEDULES, ids=lambda given: str(given)[:40])
    def test_has_the_values_worked_out_by_hand(self, schedule: dict[str, Any], factors: list[float], driver: Driver) -> None:
        run = driver.run(job({"name": "async", "lr": 0.5}, steps=7, schedule=schedule), Slope)
        assert [-move.item() for move in run.moves] == pytest.approx([0.5 * factor for factor in factors], abs=1e-14)

    @pytest.mark.parametrize("name", ALONE)
    def test_means_the_same_in_every_strategy(self, name: str, driver: Driver) -> None:
        settings, roles = ALONE[name]
        schedule, _ = SCHEDULES[-1]
        spec = job({"name": name, "lr": 0.01, **settings}, steps=11, schedule=schedule, roles={"worker": {"count": 1}, **roles})
        run = driver.run(spec, NoisyToy)
        lowest = run.center if "alpha" not in settings else run.workers[0]
        close(lowest, serial(NoisyToy(spec, 0), 11, lambda t: 0.01 * cosine(t * BATCH)))

    @pytest.mark.parametrize("workers", [2, 4])
    def test_counts_the_samples_of_all_workers(self, workers: int, driver: Driver) -> None:
        schedule = {"name": "step", "every": 3 * BATCH * workers, "to": 0.5}
        for name in ("sync", "local_sgd"):
            window = {} if name == "sync" else {"window": 1}
            run = driver.run(job({"name": name, "lr": 1.0, **window}, workers=workers, steps=7, schedule=schedule), Slope)
            assert [-move.item() for move in run.moves] == pytest.approx([1, 1, 1, 0.5, 0.5, 0.5, 0.25], abs=1e-14)

    def test_inside_a_window_a_worker_takes_others_to_have_trained_as_much(self, driver: Driver) -> None:
        spec = job(
            {"name": "local_sgd", "lr": 1.0, "window": 4}, workers=2, steps=4, schedule={"name": "step", "every": 128, "to": 0.5}
        )
        run = driver.run(spec, Slope)
        assert run.center.item() == pytest.approx(-(1 + 1 + 0.5 + 0.5), abs=1e-14)

    @pytest.mark.parametrize("optimizer", [{"name": "sgd", "momentum": 0.9}, {"name": "adam"}], ids=lambda o: o["name"])
    def test_is_the_lambda_lr_of_torch(self, optimizer: dict[str, Any], driver: Driver) -> None:
        fits = Fits(examples=48)
        schedule = {"name": "cosine", "over": 128, "to": 0.2}
        spec = job({"name": "sync", "lr": 0.05}, batch_size=8, steps=20, optimizer=optimizer, schedule=schedule)
        center = driver.run(spec, fits).center
        more = {key: value for key, value in optimizer.items() if key != "name"}
        model, made = network(), {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer["name"]]
        steps = made(model.parameters(), lr=0.05, **more)
        planned = torch.optim.lr_scheduler.LambdaLR(steps, lambda step: cosine(8 * step))
        for inputs, targets in fits.workloads[0].taken:
            steps.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            steps.step()
            planned.step()
        close(center, nn.utils.parameters_to_vector(model.parameters()).detach(), 1e-7)


def cosine(samples: int) -> float:
    """The last of SCHEDULES."""
    return 0.2 + 0.8 * (1 + math.cos(math.pi * min(samples, 128) / 128)) / 2


class TestClipping:
    def test_is_of_the_mean_and_not_of_each(self, driver: Driver) -> None:
        gradients = {0: vector(30.0, 0.0), 1: vector(0.0, 8.0)}
        spec = job({"name": "sync", "lr": 0.1}, workers=2, steps=3, optimizer={"name": "sgd", "clip_norm": 1.0})
        run = driver.run(spec, slopes(lambda rank, position: gradients[max(rank, 0)]))
        mean = vector(15.0, 4.0)
        for move in run.moves:
            close(move, -0.1 * mean / mean.norm(), 1e-7)
        each = -0.1 * (vector(1.0, 0.0) + vector(0.0, 1.0)) / 2
        assert not torch.allclose(run.moves[0], each)

    def test_leaves_short_ones_alone(self, driver: Driver) -> None:
        runs = [
            driver.run(job({"name": "sync", "lr": 0.01}, workers=2, steps=9, optimizer={"name": "sgd", **clip}), NoisyToy)
            for clip in ({"clip_norm": 1e6}, {})
        ]
        assert torch.equal(runs[0].center, runs[1].center)

    def test_is_that_of_torch(self, driver: Driver) -> None:
        fits = Fits(examples=40)
        spec = job({"name": "single", "lr": 0.1, "window": 5}, batch_size=8, steps=20, optimizer={"name": "sgd", "clip_norm": 0.2})
        center, model = driver.run(spec, fits).center, network()
        steps, clipped = torch.optim.SGD(model.parameters(), lr=0.1), 0
        for inputs, targets in fits.workloads[0].taken:
            steps.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            clipped += float(nn.utils.clip_grad_norm_(model.parameters(), 0.2)) > 0.2
            steps.step()
        assert clipped > 0
        close(center, nn.utils.parameters_to_vector(model.parameters()).detach(), 1e-6)


class TestAverageForEvaluation:
    @pytest.mark.parametrize("name", ["sync", "async", "easgd"])
    def test_uniform_is_the_mean_of_all_versions(self, name: str, driver: Driver) -> None:
        run = driver.run(job({"name": name, "lr": 0.005}, workers=3, steps=30, evaluate={"average": "uniform"}), NoisyToy)
        assert len(run.folds) == run.version
        close(run.evaluated, sum(versions(run)) / (run.version + 1))

    @pytest.mark.parametrize("rate", [0.001, 0.3])
    def test_a_rate_is_the_share_of_each_new_version(self, rate: float, driver: Driver) -> None:
        run = driver.run(job({"name": "async", "lr": 0.005}, workers=3, steps=10, evaluate={"average": rate}), NoisyToy)
        average, *rest = versions(run)
        for theta in rest:
            average = (1 - rate) * average + rate * theta
        close(run.evaluated, average)

    def test_workers_train_as_without_it(self, driver: Driver) -> None:
        runs = [driver.run(job({"name": "async", "lr": 0.005}, workers=3, steps=10, **more), NoisyToy) for more in ({}, AVERAGED)]
        assert torch.equal(runs[0].center, runs[1].center)
        assert torch.equal(runs[0].center, runs[0].evaluated)
        assert not torch.equal(runs[1].center, runs[1].evaluated)

    def test_what_is_deferred_or_dropped_makes_no_version(self, driver: Driver) -> None:
        spec = job(
            {"name": "delayed_diloco", "lr": 0.005, "window": 2, "k": 3}, workers=2, steps=12, evaluate={"average": "uniform"}
        )
        run = driver.run(spec, NoisyToy)
        changed = [fold for fold in run.folds if not torch.equal(fold.before, fold.after)]
        assert len(changed) == run.version == 4
        close(run.evaluated, (run.folds[0].before + sum(fold.after for fold in changed)) / 5)


AVERAGED = {"evaluate": {"average": "uniform"}}


def versions(run: Any) -> list[Tensor]:
    return [run.folds[0].before, *(fold.after for fold in run.folds)]


class TestRate:
    def test_is_a_number_of_the_job_and_no_more(self, driver: Driver) -> None:
        """Doubling it doubles the first move of every strategy that has one worker and stands at the same place."""
        for name in ("async", "adag", "geo"):
            one, two = (driver.run(job({"name": name, "lr": lr}, steps=1), Toy) for lr in (0.001, 0.002))
            close(2 * one.moves[0], two.moves[0])


def test_the_plain_script_of_these_laws_is_right() -> None:
    """Of a line through two points, by hand: w = 0, x = 1, y = 2, (w x - y)^2, so one step of 0.25 goes to 1."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    batch = (torch.ones(1, 1), 2 * torch.ones(1, 1))
    assert plain.train(model, [batch], lambda p: torch.optim.SGD(p, lr=0.25)).item() == 1.0
