"""Virtual time: what the formulas of queues and links say, in small."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.errors import Invalid
from gradstream.sim.times.costs import Costs
from gradstream.sim.times.speeds import Listed, Lognormal, Memoryless, Recorded, Straggler, parse
from gradstream.sim.toys import Bowl, NoisyToy, Toy, job
from gradstream.strategies import AnyStrategy
from tests.unit.same import difference

BYTES = 4000
"""Of a vector of the bowl."""


def drawn(text: str, workers: int, seed: int, count: int) -> list[list[float]]:
    """The mini-batches of each worker, drawn as the simulator does."""
    speeds = parse(text)
    own = [random.Random(f"{seed}/{rank}") for rank in range(workers)]
    return [[speeds.factor(rank, workers, own[rank]) for _ in range(count)] for rank in range(workers)]


class TestTime:
    def test_a_worker_alone_takes_a_step_for_each_mini_batch(self) -> None:
        run = sim.run(job({"name": "adag", "window": 5, "lr": 0.01}, steps=13), Toy, costs=Costs(step=2.0))
        assert run.times == [10, 20, 26], "three pushes: of five, five, and the three that are left"
        assert (run.time, run.compute, run.wait) == (26, {0: 26}, {0: 0})

    def test_hogwild_threads_take_their_share_of_the_time(self) -> None:
        roles = {"worker": {"hogwild": 2}}
        run = sim.run(job({"name": "adag", "window": 5, "lr": 0.01}, steps=13, roles=roles), Toy, costs=Costs(step=2.0))
        assert run.times == [5, 10, 13]

    def test_a_round_of_all_takes_as_long_as_its_slowest(self) -> None:
        run = sim.run(job({"name": "sync", "lr": 0.01}, workers=5, steps=20), Toy, costs=Costs(speeds="lognormal:0.5"), seed=7)
        mine = drawn("lognormal:0.5", 5, 7, 20)
        assert run.time == pytest.approx(sum(max(worker[k] for worker in mine) for k in range(20)))
        last = max(worker[19] for worker in mine)
        for rank in range(5):  # nobody waits for the response to its last push
            assert run.compute[rank] + run.wait[rank] == pytest.approx(run.time - last + mine[rank][19])

    def test_a_round_of_a_quorum_takes_as_long_as_its_kth(self) -> None:
        spec = job({"name": "sync", "lr": 0.01}, workers=5, gate={"mode": "bsp", "quorum": 3})
        run = sim.run(spec, Toy, costs=Costs(speeds="1,2,3,4,5", step=60.0), events=5)
        assert run.times[:3] == pytest.approx([20, 20, 20]), "the third fastest: 60 / 3"
        assert {d.rank for d in run.decisions[:3]} == {2, 3, 4}

    @pytest.mark.more
    def test_memoryless_rounds_follow_the_harmonic_numbers(self) -> None:
        run = sim.run(job({"name": "sync", "lr": 0.001}, workers=4, steps=3000), Toy, costs=Costs(speeds=Memoryless()))
        assert run.time / 3000 == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4, rel=0.05)

    def test_one_straggler_slows_a_round_of_all_and_nobody_else_without_a_gate(self) -> None:
        costs = Costs(speeds=Straggler(5))
        together = sim.run(job({"name": "sync", "lr": 0.01}, workers=4), Toy, costs=costs, events=80)
        alone = sim.run(job({"name": "async", "lr": 0.001}, workers=4), Toy, costs=costs, events=80)
        spec = job({"name": "sync", "lr": 0.01}, workers=4, gate={"mode": "bsp", "quorum": 3})
        backup = sim.run(spec, Toy, costs=costs, events=80)
        assert together.time == 5 * 20
        assert alone.time == pytest.approx(80 / 3.2, abs=1)
        assert backup.time == pytest.approx(80 / 3.2, abs=1), "its late gradients are dropped"
        assert together.wait[0] == pytest.approx(4 / 5 * together.time, rel=0.06)

    @pytest.mark.few(2)
    @pytest.mark.parametrize("speeds", ["constant", "lognormal:0.7", "memoryless", "straggler:5", "1,1,2,3,5,8"])
    def test_mean_staleness_is_n_minus_1_whatever_the_speeds(self, speeds: str) -> None:
        costs = Costs(speeds=speeds, latency=0.2, apply=0.01)
        run = sim.run(job({"name": "async", "lr": 1e-4}, workers=6), Toy, costs=costs, events=4000)
        assert sum(run.staleness) / len(run.staleness) == pytest.approx(5, abs=0.05)


class TestLinksAndServer:
    def test_a_push_pays_latency_and_transfer_both_ways(self) -> None:
        costs = Costs(latency=0.5, bandwidth=BYTES / 2, apply=0.25)
        run = sim.run(job({"name": "async", "lr": 0.01}, steps=3), Bowl, costs=costs)
        a_round = 1 + (2 + 0.5) + 0.25 + (2 + 0.5)
        first = (2 + 0.5) + 1 + (2 + 0.5) + 0.25
        assert run.times == pytest.approx([first, first + a_round, first + 2 * a_round])
        assert run.bytes == (3 * BYTES, 3 * BYTES + BYTES), "one center before the first mini-batch"

    def test_nobody_is_faster_than_its_link(self) -> None:
        costs = Costs(step=0.0, bandwidth=1e6)
        run = sim.run(job({"name": "async", "lr": 1e-4}, workers=3), Bowl, costs=costs, events=300)
        assert run.time >= 300 * 2 * BYTES / 1e6 / 3 * 0.999

    def test_the_server_handles_one_push_after_another(self) -> None:
        run = sim.run(job({"name": "async", "lr": 1e-4}, workers=50), Toy, costs=Costs(apply=0.1), events=1000)
        assert run.time == pytest.approx(1 + 1000 * 0.1)
        gaps = [later - before for before, later in zip(run.times, run.times[1:], strict=False)]
        assert min(gaps) == pytest.approx(0.1)

    def test_training_hides_a_merge_that_is_on_its_way(self) -> None:
        """GEO-SGD: a merge takes 4 + 4; with 8 steps made meanwhile it costs nothing."""
        costs = Costs(bandwidth=BYTES / 4)
        times = {}
        for delay in (0, 4, 8):
            spec = job({"name": "geo", "window": 20, "delay": delay, "lr": 0.001}, workers=2, steps=200)
            times[delay] = sim.run(spec, Bowl, costs=costs).time
        nine_merges = 9 * 8
        assert times[0] - times[8] == pytest.approx(nine_merges)
        assert times[0] - times[4] == pytest.approx(nine_merges / 2)

    def test_messages_of_a_worker_stay_in_order(self) -> None:
        """A small one behind a large one: downpour's fetch behind its push."""
        costs = Costs(step=0.1, bandwidth=BYTES, latency=0.3)
        run = sim.run(job({"name": "downpour", "n_push": 1, "n_fetch": 1, "lr": 1e-4}, workers=3, steps=20), Bowl, costs=costs)
        assert run.events == 60
        assert all(d.outcome == "applied" for d in run.decisions)


class TestSame:
    @pytest.mark.parametrize("strategy", ["async", "sync", "easgd", "geo", "diloco", "downpour", "local_sgd"])
    def test_a_checkpoint_is_resumed_exactly(self, strategy: str) -> None:
        spec = job({"name": strategy, "lr": 0.002}, workers=3, shards=2, steps=120)
        costs = Costs(speeds="lognormal:0.4", latency=0.2, bandwidth=100.0, apply=0.05)
        probe = sim.run(spec, NoisyToy, costs=costs)
        checkpoint = max(1, probe.events // 3)
        whole = sim.run(spec, NoisyToy, costs=costs, checkpoints={checkpoint})
        rest = sim.run(spec, NoisyToy, costs=costs, resume=whole.checkpoints[checkpoint])
        assert difference(whole.shards, rest.shards) is None
        assert rest.time == whole.time
        assert rest.times == whole.times[len(whole.times) - len(rest.times) :]

    def test_the_same_seed_gives_the_same_bits(self) -> None:
        spec = job({"name": "adag", "window": 3, "lr": 0.01}, workers=7)
        costs = Costs(speeds="lognormal:0.4", latency=0.2, bandwidth=1e3, apply=0.05)
        one, two, other = (sim.run(spec, NoisyToy, costs=costs, events=200, mtbf=40, down=3, seed=seed) for seed in (1, 1, 2))
        assert torch.equal(one.center, two.center)
        assert (one.times, one.wait, one.failures) == (two.times, two.wait, two.failures)
        assert one.times != other.times

    def test_costs_change_who_comes_when_and_nothing_else(self) -> None:
        """One worker: no order to change."""
        for name in ("async", "adag", "easgd", "diloco", "geo"):
            spec = job({"name": name, "lr": 0.01}, steps=60)
            costs = Costs(speeds="memoryless", latency=1.0, bandwidth=10.0, apply=2.0)
            assert torch.equal(sim.run(spec, NoisyToy).center, sim.run(spec, NoisyToy, costs=costs).center)

    def test_every_strategy_runs_under_costs(self) -> None:
        for member in AnyStrategy.__origin__.__args__:  # type: ignore[attr-defined]
            name = member.model_fields["name"].default
            spec = job({"name": name, "lr": 0.001}, workers=member.workers or 3, steps=40)
            run = sim.run(spec, NoisyToy, costs=Costs(speeds="lognormal:0.3", latency=0.1, bandwidth=1e3, apply=0.01))
            assert 0 in run.checkpoints, name
            assert run.times == sorted(run.times)


class TestSpeeds:
    @pytest.mark.parametrize("text", ["lognormal:0.3", "lognormal:1.0", "memoryless"])
    def test_drawn_ones_have_mean_1(self, text: str) -> None:
        (found,) = drawn(text, 1, 3, 20_000)
        assert sum(found) / len(found) == pytest.approx(1, abs=0.05)

    def test_text_forms(self) -> None:
        assert parse("lognormal:0.3") == Lognormal(0.3)
        assert parse("straggler:5:2") == Straggler(5, 2)
        assert parse("1,2.5") == Listed((1.0, 2.5))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("lognormal", "takes other numbers"),
            ("lognormal:x", "names no speeds"),
            ("fast", "names no speeds"),
            ("1,0", "above 0"),
            ("lognormal:9", "from 0 to 3"),
            ("straggler:0", "how many times"),
            ("constant:2", "takes other"),
        ],
    )
    def test_mistakes_are_explained(self, text: str, said: str) -> None:
        with pytest.raises(ValueError, match=said):
            parse(text)

    @pytest.mark.parametrize(("text", "said"), [("1,2", "2 are given for 3 workers"), ("straggler:5:3", "3 of 3 workers")])
    def test_what_does_not_fit_the_workers_is_refused(self, text: str, said: str) -> None:
        with pytest.raises(ValueError, match=said):
            sim.run(job({"name": "async"}, workers=3), Toy, events=1, costs=Costs(speeds=text))

    @pytest.mark.parametrize("wrong", [{"step": -1.0}, {"latency": -1.0}, {"apply": -1.0}, {"bandwidth": 0.0}])
    def test_costs_that_make_no_sense_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="costs: "):
            Costs(**wrong)

    def test_recorded_by_a_job(self, tmp_path: Any) -> None:
        """Rank 0: pushes of four mini-batches, 0.4 s each after a first one; rank 1 takes twice as long."""
        rows = ["name,source,rank,step,samples,version,time,value"]
        rows += [f"time/compute,-,{r},{4 * k},0,0,0,{(9.9 if k == 1 else 0.4) * (1 + r)}" for k in (1, 2, 3) for r in (0, 1)]
        rows += ["train/loss,worker-0,0,1,0,0,0,0.5"]
        (tmp_path / "times.csv").write_text("\n".join(rows))
        found = parse(f"recorded:{tmp_path / 'times.csv'}")
        assert isinstance(found, Recorded)
        assert [list(worker) for worker in found.seconds] == [pytest.approx([0.1, 0.1]), pytest.approx([0.2, 0.2])]
        run = sim.run(job({"name": "async", "lr": 0.001}, workers=4, steps=10), Toy, costs=Costs(speeds=found))
        assert list(run.compute.values()) == pytest.approx([1, 2, 1, 2]), "a third worker is like the first"

    def test_recorded_in_parquet(self, tmp_path: Any) -> None:
        import pyarrow as pa
        from pyarrow import parquet as pq

        columns = {"name": ["time/compute"] * 2, "rank": [0, 0], "step": [2, 4], "value": [1.0, 0.6]}
        pq.write_table(pa.table(columns), tmp_path / "metrics.parquet")
        assert parse(f"recorded:{tmp_path / 'metrics.parquet'}") == Recorded(((0.3,),))

    @pytest.mark.parametrize("row", ["train/loss,0,1,2", "time/compute,0,x,2", ""])
    def test_a_file_that_holds_no_times_is_refused(self, tmp_path: Any, row: str) -> None:
        (tmp_path / "f.csv").write_text(f"name,rank,step,value\n{row}\n" if row else "a,b\n1,2\n")
        with pytest.raises(Invalid, match=r"f\.csv"):
            parse(f"recorded:{tmp_path / 'f.csv'}")


def test_a_watch_sees_the_center_as_it_grows_and_can_end_the_run() -> None:
    seen: list[sim.View] = []
    centers = []

    def watch(view: sim.View) -> bool:
        seen.append(view)
        centers.append(view.center())
        return view.samples >= 600

    run = sim.run(job({"name": "async", "lr": 0.01}, workers=3, batch_size=10), Toy, costs=Costs(), watch=watch, watch_every=200)
    assert [view.samples for view in seen] == [200, 400, 600]
    assert (run.samples, run.events) == (600, 60)
    assert torch.equal(centers[-1], run.center)
    assert not torch.equal(centers[0], centers[-1]), "a copy"
    assert seen[0].loss is not None


def test_ends_before_what_is_later_than_until() -> None:
    run = sim.run(job({"name": "async", "lr": 0.001}, workers=3), Toy, costs=Costs(step=2.0), until=9.0)
    assert (run.events, run.time) == (12, 8.0)


def test_a_push_entry_is_what_the_server_is_paid_for() -> None:
    """Joins, pulls and leaves take no server time, or a resumed run would come later."""
    run = sim.run(job({"name": "downpour", "n_push": 4, "n_fetch": 1, "lr": 1e-4}, steps=8), Toy, costs=Costs(apply=1.0))
    assert run.time == 8 + 2
