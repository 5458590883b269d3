"""What the algorithms must do, whatever their numbers: equalities with serial training, staleness, windows, stability."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from gradstream import sim
from gradstream.sim.toys import Bowl, NoisyToy, Quadratic, Toy, job
from gradstream.spec import JobSpec, Stop
from gradstream.strategies.adag import Adag
from gradstream.strategies.base import ServerSide, WorkerSide
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


class TestOneWorker:
    @pytest.mark.parametrize(("optimizer", "torchs"), OPTIMIZERS, ids=lambda o: str(o.get("name")) if isinstance(o, dict) else "")
    @pytest.mark.parametrize("strategy", ["sync", "async", "downpour"])
    def test_pushing_gradients_is_torch_optim_bit_for_bit(self, strategy: str, optimizer: dict[str, Any], torchs: Any) -> None:
        fits = Fits(examples=50)
        run = sim.run(job({"name": strategy, "lr": 0.1}, optimizer=optimizer, batch_size=8, steps=30), fits)
        assert run.version == 30
        assert torch.equal(run.center, plain.train(network(), fits.workloads[0].taken, torchs))

    @pytest.mark.parametrize("optimizer", [{"name": "sgd"}, {"name": "adam"}])
    def test_pushing_differences_is_torch_optim_within_rounding(self, optimizer: dict[str, Any]) -> None:
        fits = Fits(examples=50, dtype=torch.float64)
        spec = job({"name": "adag", "window": 1, "lr": 0.1}, optimizer=optimizer, batch_size=8, steps=30)
        center = sim.run(spec, fits).center
        make = dict((o["name"], t) for o, t in OPTIMIZERS[::-1])[optimizer["name"]]
        torch.testing.assert_close(center, plain.train(network(torch.float64), fits.workloads[0].taken, make), rtol=0, atol=1e-12)


class TestManyWorkers:
    @pytest.mark.parametrize("workers", [2, 3, 5])
    @pytest.mark.parametrize("optimizer", [0, 1, 4])
    def test_batch_b_each_is_batch_n_times_b(self, workers: int, optimizer: int) -> None:
        spec_of, torchs = OPTIMIZERS[optimizer]
        fits = Fits(examples=40 * workers, dtype=torch.float64)
        spec = job({"name": "sync", "lr": 0.1}, workers=workers, optimizer=spec_of, batch_size=8, steps=12)
        center = sim.run(spec, fits, schedule="random").center
        assert {len(x) for x, _ in fits.rounds()} == {8 * workers}
        torch.testing.assert_close(center, plain.train(network(torch.float64), fits.rounds(), torchs), rtol=0, atol=1e-12)

    def test_unequal_batches_are_weighted(self) -> None:
        """43 examples for 3 workers in batches of 4: shares of 15, 14 and 14 end with batches of 3, 2 and 2."""
        fits = Fits(examples=43, dtype=torch.float64)
        spec = job({"name": "sync", "lr": 0.1}, workers=3, batch_size=4, steps=8)
        center = sim.run(spec, fits).center
        assert [len(x) for x, _ in fits.rounds()] == [12, 12, 12, 7, 12, 12, 12, 7]
        torch.testing.assert_close(center, plain.train(network(torch.float64), fits.rounds(), OPTIMIZERS[0][1]), rtol=0, atol=1e-12)

    def test_who_has_no_data_left_is_not_waited_for(self) -> None:
        """Shares of 5, 4 and 4 in batches of 2: the first worker makes the last round alone."""
        fits = Fits(examples=13, dtype=torch.float64)
        spec = job({"name": "sync", "lr": 0.1}, workers=3, batch_size=2).model_copy(update={"stop": Stop(epochs=1)})
        run = sim.run(spec, fits)
        assert [len(x) for x, _ in fits.rounds()] == [6, 6, 1]
        expected = plain.train(network(torch.float64), fits.rounds(), OPTIMIZERS[0][1])
        torch.testing.assert_close(run.center, expected, rtol=0, atol=1e-12)
        assert run.samples == 13

    def test_batch_norm_is_averaged_with_weights_and_counted_by_the_lowest_rank(self) -> None:
        class Normed(Fits):
            def model(self) -> nn.Module:
                torch.manual_seed(7)
                return nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 2))

        fits = Normed(examples=22)  # 11 for each: batches of 8 and 3
        run = sim.run(job({"name": "async", "lr": 0.1}, workers=2, shards=2, batch_size=8, steps=4), fits, speeds=[1.0, 1.5])
        buffers = run.shards[0]["center"]["buffers"]
        assert buffers["last"].keys() == {0, 1}
        for rank, (examples, floats, _) in buffers["last"].items():
            batches = [x for x, _ in fits.workloads[rank].taken]
            mean = torch.zeros(5)
            for x in batches:
                mean = 0.9 * mean + 0.1 * x.mean(0)
            assert examples == len(batches[-1])
            torch.testing.assert_close(floats[:5], mean)
        assert buffers["last"][0][2].tolist() == [4]
        assert run.shards[1]["center"]["buffers"] is None


class TestRounds:
    @pytest.mark.parametrize(("strategy", "gate"), [("sync", "bsp"), ("adag", "bsp")])
    def test_any_order_of_arrival_gives_the_same_bits(self, strategy: str, gate: str) -> None:
        spec = job({"name": strategy, "lr": 0.01}, workers=5, gate=gate)
        even = sim.run(spec, Bowl, events=100)
        others = [sim.run(spec, Bowl, events=100, schedule="random", seed=seed) for seed in (1, 2)]
        order = [decision.rank for decision in even.decisions]
        for other in others:
            assert torch.equal(even.center, other.center)
            assert [decision.rank for decision in other.decisions] == order

    def test_staleness_is_exactly_zero(self) -> None:
        run = sim.run(job({"name": "sync", "lr": 0.01}, workers=5, gate="bsp"), Bowl, events=100, schedule="random")
        assert (set(run.staleness), run.version) == ({0}, 20)

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
    @pytest.mark.parametrize("speeds", [[1.0] * 4, [1.0, 2.0, 5.0, 0.3]])
    def test_closed_and_open_counts_are_what_others_did(self, speeds: list[float]) -> None:
        """Each commit opens a count in the n - 1 other windows; a worker's own commit closes its count."""
        run = sim.run(job({"name": "async", "lr": 0.001}, workers=4), NoisyToy, events=997, schedule="random", speeds=speeds)
        last = {decision.rank: at for at, decision in enumerate(run.decisions)}
        still_open = sum(len(run.decisions) - 1 - at for at in last.values())
        assert sum(run.staleness) + still_open == 3 * 997

    def test_memoryless_workers_have_a_geometric_staleness(self) -> None:
        run = sim.run(job({"name": "async", "lr": 0.001}, workers=8), NoisyToy, events=12_000, schedule="random")
        assert sum(run.staleness) / 12_000 == pytest.approx(7, abs=0.05)
        for s in range(6):
            assert run.staleness.count(s) / 12_000 == pytest.approx((1 / 8) * (7 / 8) ** s, abs=0.01)

    def test_in_turn_it_is_n_minus_1(self) -> None:
        run = sim.run(job({"name": "async", "lr": 0.001}, workers=6), Toy, events=60)
        assert run.staleness == [0, 1, 2, 3, 4, *[5] * 55]

    @pytest.mark.parametrize("bound", [1, 2, 3, 4])
    def test_what_is_dropped_does_not_advance_the_version(self, bound: int) -> None:
        run = sim.run(job({"name": "async", "lr": 0.01}, workers=4, gate={"max_staleness": bound}), Toy, events=40)
        assert (run.version, len(run.staleness)) == (10 * bound, 10 * bound)
        assert max(run.staleness) < bound
        assert sum(account.dropped for account in run.ledger.values()) == 40 - 10 * bound

    def test_max_staleness_1_is_serial_training_by_whoever_is_first(self) -> None:
        run = sim.run(job({"name": "async", "lr": 0.01}, workers=4, gate={"max_staleness": 1}), Toy, events=160)
        assert torch.equal(run.center, sim.run(job({"name": "async", "lr": 0.01}), Toy, events=40).center)


class TestSsp:
    @pytest.mark.parametrize("bound", [0, 1, 3])
    def test_nobody_is_further_ahead_than_the_bound(self, bound: int) -> None:
        spec = job({"name": "async", "lr": 0.001}, workers=5, gate={"ssp": bound})
        run = sim.run(spec, NoisyToy, events=2000, schedule="random", speeds=[1, 1, 1, 1, 4])
        clocks = [0] * 5
        gaps = []
        for decision in run.decisions:
            clocks[decision.rank] += 1
            gaps.append(clocks[decision.rank] - min(clocks))
        assert max(gaps) == bound + 1  # begun at most `bound` ahead, and one more when it is finished

    def test_bound_0_is_lockstep(self) -> None:
        run = sim.run(job({"name": "async", "lr": 0.001}, workers=5, gate={"ssp": 0}), NoisyToy, events=500, schedule="random")
        ranks = [decision.rank for decision in run.decisions]
        assert all(sorted(ranks[at : at + 5]) == [0, 1, 2, 3, 4] for at in range(0, 500, 5))

    def test_without_end_it_is_asp(self) -> None:
        ssp, asp = (
            sim.run(job({"name": "async", "lr": 0.001}, workers=5, gate=gate), NoisyToy, events=500, schedule="random")
            for gate in ({"ssp": 10**6}, "asp")
        )
        assert torch.equal(ssp.center, asp.center)
        assert ssp.decisions == asp.decisions


class TestWindows:
    def test_the_partial_last_window_is_sent_and_divided_by_its_own_length(self) -> None:
        run = sim.run(job({"name": "adag", "window": 5, "lr": 0.01}, steps=13), Toy)
        assert [decision.steps for decision in run.decisions] == [5, 5, 3]
        center = torch.tensor([3.0, 4.0], dtype=torch.float64)
        for window in (5, 5, 3):
            after = center
            for _ in range(window):
                after = after - 0.01 * slope(after)
            center = center + (after - center) / window
        torch.testing.assert_close(run.center, center, rtol=0, atol=1e-12)

    def test_downpour_with_one_worker_is_serial_whatever_the_window(self) -> None:
        run = sim.run(job({"name": "downpour", "n_push": 5, "n_fetch": 5, "lr": 0.01}, steps=13), Toy)
        assert [decision.steps for decision in run.decisions] == [5, 5, 3]
        serial = sim.run(job({"name": "async", "lr": 0.01}, steps=13), Toy)
        torch.testing.assert_close(run.center, serial.center, rtol=0, atol=1e-12)

    def test_pushing_the_difference_or_the_sum_of_gradients_is_the_same(self) -> None:
        class Delta(Adag, frozen=True):
            def round(self, w: WorkerSide, ps: ServerSide) -> None:
                ps.pull(w.theta)
                base = w.theta.clone()
                w.local(self.window)
                ps.push(base - w.theta)

        downpour = job({"name": "downpour", "n_push": 5, "n_fetch": 5, "lr": 0.01}, workers=4)
        delta = downpour.model_copy(update={"strategy": Delta(window=5, lr=0.01)})
        of_sums, of_differences = (sim.run(spec, NoisyToy, events=60, schedule="random") for spec in (downpour, delta))
        torch.testing.assert_close(of_sums.center, of_differences.center, rtol=1e-11, atol=0)

    def test_downpour_pushes_and_fetches_at_intervals_of_their_own(self) -> None:
        run = sim.run(job({"name": "downpour", "n_push": 1, "n_fetch": 4, "lr": 0.01}), Toy, events=10)
        assert run.version == 10
        assert run.staleness == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]

    def test_adag_with_window_1_is_downpour_with_windows_1(self) -> None:
        adag, downpour = (
            sim.run(job({"name": name, "lr": 0.01, **windows}, workers=4), NoisyToy, events=200, schedule="random")
            for name, windows in (("adag", {"window": 1}), ("downpour", {}))
        )
        torch.testing.assert_close(adag.center, downpour.center, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("window", [1, 4, 15])
    def test_speed_of_adag_does_not_depend_on_its_window(self, window: int) -> None:
        run = sim.run(job({"name": "adag", "window": window, "lr": 0.25}), Slope, events=8)
        assert run.center.tolist() == [-2.0]

    def test_adagrad_on_a_constant_gradient_makes_steps_of_1_over_root_t(self) -> None:
        spec = job({"name": "downpour", "lr": 0.1}, optimizer={"name": "adagrad"})
        places = [sim.run(spec, Slope, events=t).center.item() for t in range(1, 9)]
        steps = [before - after for before, after in zip([0.0, *places], places, strict=False)]
        assert steps == pytest.approx([0.1 / math.sqrt(t) for t in range(1, 9)], rel=1e-6)


class TestStability:
    """On f = x^2 / 2 in turn, a rule that moves the center by c x has an exact limit: c < 2 sin(pi / (2 (2n - 1)))."""

    @pytest.mark.parametrize(("workers", "lr", "window"), [(3, 0.1, 9), (4, 0.1, 5), (8, 0.05, 4)])
    def test_downpour_diverges_one_window_later(self, workers: int, lr: float, window: int) -> None:
        assert growth("downpour", workers, lr, n_push=window, n_fetch=window) < 1
        assert growth("downpour", workers, lr, n_push=window + 1, n_fetch=window + 1) > 1

    @pytest.mark.parametrize(("workers", "lr"), [(3, 0.1), (4, 0.1), (8, 0.05)])
    @pytest.mark.parametrize("window", [1, 12, 59])
    def test_adag_converges_there_with_any_window(self, workers: int, lr: float, window: int) -> None:
        assert growth("adag", workers, lr, window=window) < 1

    @pytest.mark.parametrize("workers", [1, 2, 4, 8])
    def test_async_diverges_at_its_limit(self, workers: int) -> None:
        limit = 2 * math.sin(math.pi / (2 * (2 * workers - 1)))
        assert growth("async", workers, 0.97 * limit) < 1
        assert growth("async", workers, 1.03 * limit) > 1


class Parabola(Quadratic):
    """x^2 / 2 from 1."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(spec, rank, one.clone(), one, torch.zeros_like(one))


class Slope(Quadratic):
    """x from 0: the gradient is 1 everywhere."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(spec, rank, torch.zeros_like(one), torch.zeros_like(one), -one)


def growth(strategy: str, workers: int, lr: float, **windows: int) -> float:
    """How much larger the swings are at the end than in the middle."""
    run = sim.run(job({"name": strategy, "lr": lr, **windows}, workers=workers, on_nan="drop"), Parabola, events=900)
    seen = [math.sqrt(2 * loss) for loss in run.losses[0]]
    part = len(seen) // 3
    return max(seen[-part:]) / max(seen[part : 2 * part])


def slope(theta: torch.Tensor) -> torch.Tensor:
    x, y = theta
    return torch.stack([10 * x + 8 * y - 34, 8 * x + 10 * y - 38])
