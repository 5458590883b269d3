"""The simulated cluster itself: its schedules, what it costs, and what its workers do when they are lost."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.center.entries import ProtocolError
from gradstream.sim.port import SimPort
from gradstream.sim.toys import NoisyToy, Toy, job
from gradstream.strategies.base import ServerSide, WorkerSide
from gradstream.strategies.sync import Sync
from gradstream.training.problem import Gradient
from gradstream.training.replica import LossNotFinite
from tests.unit.same import difference


def test_in_turn_push_k_of_worker_i_comes_at_k_times_n_plus_i_plus_1() -> None:
    run = sim.run(job({"name": "async", "lr": 0.01}, workers=3), Toy, events=7)
    assert [decision.rank for decision in run.decisions] == [0, 1, 2, 0, 1, 2, 0]
    assert run.time == 7


def test_a_faster_worker_pushes_more() -> None:
    run = sim.run(job({"name": "async", "lr": 0.001}, workers=3), NoisyToy, events=4000, schedule="random", speeds=[1, 2, 5])
    pushed = [run.ledger[rank].pushed for rank in range(3)]
    assert pushed == pytest.approx([500, 1000, 2500], rel=0.1)


@pytest.mark.parametrize("speeds", [[1.0], [1.0, 0.0], [1.0, -1.0]])
def test_speeds_that_make_no_sense_are_refused(speeds: list[float]) -> None:
    with pytest.raises(ValueError, match="2 numbers above 0"):
        sim.run(job({"name": "async"}, workers=2), Toy, events=1, speeds=speeds)


def test_the_seed_of_the_schedule_changes_the_order_only() -> None:
    spec = job({"name": "async", "lr": 0.01}, workers=4)
    one, other, again = (sim.run(spec, Toy, events=50, schedule="random", seed=seed) for seed in (1, 2, 1))
    assert one.decisions == again.decisions
    assert [d.rank for d in one.decisions] != [d.rank for d in other.decisions]
    assert one.losses[0][0] == other.losses[0][0]


def test_ends_when_all_have_left_with_a_final_checkpoint() -> None:
    run = sim.run(job({"name": "async", "lr": 0.01}, workers=3, steps=4), Toy)
    assert (run.events, run.version, run.samples) == (12, 12, 12 * 32)
    assert run.checkpoints.keys() == {0}


def test_a_worker_that_fails_fails_the_run() -> None:
    with pytest.raises(LossNotFinite):
        sim.run(job({"name": "async", "lr": 3.0}, workers=2), Toy, events=10_000)


def test_what_can_not_go_on_says_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine that is right gets there; so here responses are lost on the way."""
    monkeypatch.setattr(SimPort, "deliver", lambda port, response, arrives: False)
    with pytest.raises(sim.Stuck, match=r"workers \[0, 1, 2\] wait"):
        sim.run(job({"name": "sync"}, workers=3), Toy, events=9)


def test_a_strategy_that_pushes_twice_in_a_round_of_all_is_told_so() -> None:
    class Twice(Sync, frozen=True):
        def round(self, w: WorkerSide, ps: ServerSide) -> None:
            super().round(w, ps)
            ps.push(w.grad())

    spec = job({"name": "sync"}, workers=2).model_copy(update={"strategy": Twice()})
    with pytest.raises(ProtocolError, match="worker 0 pushed twice"):
        sim.run(spec, Toy, events=9, speeds=[10, 1])


class TestLostWorkers:
    def test_the_round_goes_on_without_one(self) -> None:
        run = sim.run(
            job({"name": "sync", "lr": 0.01}, workers=4, steps=20), Toy, failures=[sim.WorkerFailure(13, 2, respawn=False)]
        )
        assert [len(run.losses[rank]) for rank in range(4)] == [20, 20, 4, 20]
        assert run.version == 20
        assert 0 not in run.checkpoints, "not over: a lost worker may come back"

    def test_a_new_incarnation_goes_on_where_the_pushes_of_the_last_end(self) -> None:
        run = sim.run(job({"name": "async", "lr": 0.01}, workers=3, steps=20), NoisyToy, failures=[sim.WorkerFailure(13, 2)])
        pushed = [decision for decision in run.decisions if decision.rank == 2]
        assert [decision.incarnation for decision in pushed] == [0] * 4 + [1] * 16
        assert len(run.losses[2]) == 21, "one mini-batch was being computed when it was lost"

    def test_a_rank_that_is_lost_after_its_last_push_only_leaves(self) -> None:
        """It ran one more round, on mini-batches that are not there."""

        class Bounded(Toy):
            def gradient(self, position: int) -> Gradient:
                assert position < self.total, "beyond the data"
                return super().gradient(position)

        for name in ("async", "adag", "downpour"):
            run = sim.run(job({"name": name, "lr": 0.01}, workers=2, steps=12), Bounded, failures=[last_push_of(name)])
            assert run.shards[0]["members"]["positions"] == {0: 12, 1: 12}
            assert run.checkpoints.keys() == {0}

    @pytest.mark.parametrize("asked", range(10, 22))
    @pytest.mark.parametrize("strategy", [{"name": "downpour", "n_push": 2, "n_fetch": 5}, {"name": "adag", "window": 3}])
    def test_a_checkpoint_just_after_a_respawn_can_be_resumed_exactly(self, strategy: dict[str, Any], asked: int) -> None:
        """The new incarnation may be asked to save before it has begun."""
        spec = job({"lr": 0.002, **strategy}, workers=3, steps=60)
        failures = [sim.WorkerFailure(asked, 1), sim.WorkerFailure(asked + 1, 0)]
        whole = sim.run(spec, NoisyToy, schedule="random", checkpoints={asked}, failures=failures)
        rest = sim.run(spec, NoisyToy, schedule="random", resume=whole.checkpoints[asked])
        assert difference(whole.shards, rest.shards) is None


def last_push_of(strategy: str) -> sim.WorkerFailure:
    """Right after it, before the leave. In turn: rank 0 pushes one event earlier than rank 1, which pushes last."""
    return sim.WorkerFailure({"async": 24, "adag": 2, "downpour": 24}[strategy], 1)


class TestResume:
    def test_of_two_shards_by_two_shards(self) -> None:
        spec = job({"name": "async", "lr": 0.01}, workers=3, shards=2, optimizer={"name": "adam"})
        whole = sim.run(spec, NoisyToy, events=50, checkpoints={20})
        rest = sim.run(spec, NoisyToy, events=50, resume=whole.checkpoints[20])
        assert torch.equal(whole.center, rest.center)

    def test_from_the_final_checkpoint_has_nothing_to_do(self) -> None:
        spec = job({"name": "adag", "window": 5, "lr": 0.01}, workers=2, steps=13)
        whole = sim.run(spec, Toy)
        rest = sim.run(spec, Toy, resume=whole.checkpoints[0])
        assert torch.equal(whole.center, rest.center)
        assert rest.decisions == []

    def test_when_some_are_done(self) -> None:
        spec = job({"name": "async", "lr": 0.01}, workers=3, steps=30)
        whole = sim.run(spec, NoisyToy, schedule="random", speeds=[1, 1, 5], checkpoints={60})
        assert whole.checkpoints[60].ranks == [0, 1]
        rest = sim.run(spec, NoisyToy, schedule="random", speeds=[1, 1, 5], resume=whole.checkpoints[60])
        assert torch.equal(whole.center, rest.center)

    def test_with_pushes_of_an_open_round(self) -> None:
        """One has pushed, others stand before the round: with backups, since all would come for a round of all."""
        spec = job({"name": "sync", "lr": 0.01}, workers=4, shards=2, gate={"mode": "bsp", "quorum": 2, "cohort": 0.75})
        opened = 0
        for asked in range(11, 41):
            whole = sim.run(spec, NoisyToy, events=80, schedule="random", checkpoints={asked})
            checkpoint = whole.checkpoints[asked]
            opened += bool(checkpoint.shards[0]["gate"]["pending"])
            rest = sim.run(spec, NoisyToy, events=80, schedule="random", resume=checkpoint)
            assert torch.equal(whole.center, rest.center)
            assert rest.time == whole.time
        assert opened > 1


def test_results_on_the_way_are_those_of_runs_that_end_there() -> None:
    spec = job({"name": "adag", "lr": 0.01, "window": 3}, workers=3)
    costs = sim.Costs(latency=0.1, bandwidth=100.0)
    whole = sim.run(spec, NoisyToy, events=60, costs=costs, results_at=[20, 41])
    assert whole.earlier.keys() == {20, 41}
    for count, kept in [*whole.earlier.items(), (60, whole)]:
        alone = sim.run(spec, NoisyToy, events=count, costs=costs)
        assert (kept.events, kept.time, kept.bytes, kept.compute) == (count, alone.time, alone.bytes, alone.compute)
        assert (kept.decisions, kept.losses) == (alone.decisions, alone.losses)
        assert difference(kept.shards, alone.shards) is None
