"""What is advised, for machines and curvatures that make the answer plain; and what is measured, for losses that are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.advise.advice import Advice, advise
from gradstream.advise.limits import limit, rate
from gradstream.advise.measure import Measurement, measure
from gradstream.advise.outlook import Machines, Outlook, outlook
from gradstream.codecs import CODECS
from gradstream.sim.times.speeds import parse
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES

FAST = Machines(step=0.1, bandwidth=1e9, latency=0.0, speeds=parse("lognormal:0.1"))
SLOW_LINK = Machines(step=0.1, bandwidth=2e6, latency=0.0, speeds=parse("lognormal:0.1"))
UNEVEN = Machines(step=0.1, bandwidth=1e9, latency=0.0, speeds=parse("straggler:8"))
SIZE = 1_000_000


def measured(curvature: float | None = 1.0) -> Measurement:
    unknown = None if curvature else "it is only a test"
    return Measurement(SIZE // 4, dict.fromkeys(CODECS, SIZE), SIZE, 100, 0.1, curvature, unknown, SIZE)


@cache
def advice(machines: Machines, *, workers: int = 4, curvature: float | None = 1.0, lr: float = 0.05) -> Advice:
    return advise(job({"name": "adag", "lr": lr}, workers=workers), measured(curvature), machines)


@pytest.fixture(scope="class")
def short_runs() -> Iterator[None]:
    """A choice needs a run for each strategy; `TestOutlook` has runs of the product's length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradstream.advise.outlook._MINI_BATCHES", 400)
        yield


@pytest.mark.usefixtures("short_runs")
class TestAdvice:
    def test_with_even_workers_and_a_fast_link_it_is_sync(self) -> None:
        assert advice(FAST).choice.name == "sync"
        assert advice(FAST).rate == 0.05

    @pytest.mark.more
    def test_over_a_slow_link_parameters_are_averaged_less_often(self) -> None:
        """A push and a pull take a second, a mini-batch a tenth: 16 of them would leave the link a third of the time."""
        found = advice(SLOW_LINK)
        assert (found.choice.name, found.choice.window) == ("local_sgd", 64)
        assert any(reason.startswith("Not sync: its workers would wait 9") for reason in found.reasons)

    @pytest.mark.more
    def test_a_plan_that_would_save_exchanges_is_named_if_there_is_none(self) -> None:
        spec = job({"name": "sync"}, workers=2, roles={"worker": {"count": 2, "group": {"tensor": 2}}})
        sentence = "With tensor: 2, the processes gather the outputs of each of 6 linear layers. A tensor_plan()"
        for layers in (6, 1):
            found = advise(spec, replace(measured(), gathered=layers), FAST).reasons
            assert any(reason.startswith(sentence) for reason in found) == (layers == 6)

    def test_servers_that_a_choice_could_do_without_are_named(self) -> None:
        sentence = "If all workers run on one machine, roles.server.count: 0 trains to the same bits"
        assert any(reason.startswith(sentence) for reason in advice(FAST).reasons)
        assert not any(sentence in reason for reason in advice(UNEVEN, workers=2).reasons), "async needs servers"

    @pytest.mark.more
    def test_without_servers_the_link_costs_nothing(self) -> None:
        spec = job({"name": "sync", "lr": 0.05}, workers=4)
        roles = {"worker": {"count": 4}, "server": {"count": 0}}
        serverless = JobSpec.model_validate(spec.model_dump(mode="json") | {"roles": roles})
        found = advise(serverless, measured(), SLOW_LINK)
        assert (found.choice.name, found.choice.spec.roles.serverless) == ("sync", True)
        assert found.reasons == [f"sync: its workers compute {found.choice.busy:.0%} of the time."]
        assert found.job.busy > 5 * advise(spec, measured(), SLOW_LINK).job.busy
        by_gloo = advise(serverless.with_collective("gloo"), measured(), SLOW_LINK)
        assert by_gloo.job.busy < found.job.busy / 5, "an allreduce crosses it"
        (asynchronous,) = (each for each in found.strategies if each.name == "async")
        assert asynchronous.spec.shards == 1

    def test_nobody_waits_for_a_straggler(self) -> None:
        assert advice(UNEVEN, workers=2).choice.name == "async"

    def test_a_choice_that_would_wait_for_a_slow_worker_at_its_end_is_told_of_dealt_mini_batches(self) -> None:
        sentence = "With data.deal: demand the others train what 1 slow worker would"
        assert any(reason.startswith(sentence) for reason in advice(UNEVEN, workers=2).reasons)
        assert not any("data.deal" in reason for reason in advice(FAST).reasons)

    @pytest.mark.more
    def test_dealt_mini_batches_rule_no_strategy_out(self) -> None:
        spec = job({"name": "async", "lr": 0.05}, workers=4, data={"deal": "demand"})
        found = advise(spec, measured(), FAST)
        assert {each.name for each in found.strategies} >= {"sync", "async", "local_sgd"}
        assert {each.spec.data.deal for each in found.strategies if each.spec.effective_gate.mode == "bsp"} == {"shares"}
        assert found.job.spec.data.deal == "demand"

    @pytest.mark.more
    def test_what_would_diverge_is_passed_over_with_the_number(self) -> None:
        found = advice(UNEVEN, workers=8, curvature=10.0)
        assert found.choice.name == "dynsgd"
        assert any(reason.startswith("Not async: it would diverge at this rate, 2.39") for reason in found.reasons)

    @pytest.mark.more
    def test_a_rate_that_one_process_would_not_stand_is_lowered_to_half_of_what_it_would(self) -> None:
        found = advice(FAST, curvature=100.0)
        assert found.rate == pytest.approx(0.01)
        assert "Lower the rate from 0.05 to 0.01" in found.reasons[0]
        assert found.job.settles is False

    def test_one_worker_trains_plainly(self) -> None:
        assert advice(FAST, workers=1).choice.name == "single"

    @pytest.mark.more
    def test_without_a_curvature_it_says_so(self) -> None:
        found = advice(FAST, curvature=None)
        assert found.choice.name == "sync"
        assert "not known: it is only a test" in found.reasons[-1]

    def test_all_strategies_are_compared_the_jobs_own_first(self) -> None:
        names = [each.name for each in advice(FAST).strategies]
        assert names[0] == "adag"
        assert sorted(names) == sorted(STRATEGIES)

    @pytest.mark.more
    def test_an_optimizer_and_a_codec_that_others_cannot_have_do_not_hide_them(self) -> None:
        spec = job({"name": "async"}, workers=2, optimizer={"name": "adam", "lr": 0.01}, codec={"name": "topk"})
        found = advise(spec, measured(), FAST)
        assert sorted(each.name for each in found.strategies) == sorted(STRATEGIES)
        assert {each.spec.codec.name for each in found.strategies} == {"topk", "raw"}


def look(
    strategy: dict[str, Any], workers: int = 4, curvature: float | None = None, machines: Machines = FAST, **more: Any
) -> Outlook:
    return outlook(job(strategy, workers=workers, **more), machines, SIZE, 5, curvature)


class TestOutlook:
    @pytest.mark.parametrize(
        ("strategy", "rate"),
        [
            ({"name": "single"}, 1),
            ({"name": "sync"}, 1),
            ({"name": "async"}, 4),
            ({"name": "adag", "window": 5}, 4 / 5),
            ({"name": "dynsgd"}, 1),
            ({"name": "local_sgd"}, 1),
            ({"name": "easgd"}, 4 / 5),
            ({"name": "geo", "window": 10}, 4),
            ({"name": "downpour", "n_push": 5, "n_fetch": 5}, 4),
            ({"name": "fedavg"}, 1),
        ],
        ids=str,
    )
    def test_effective_rates_follow_from_the_rules(self, strategy: dict[str, Any], rate: float) -> None:
        found = look({**strategy, "lr": 0.01}, workers=1 if strategy["name"] == "single" else 4)
        assert found.effective_rate == pytest.approx(0.01 * rate, rel=0.06)

    def test_momentum_counts(self) -> None:
        found = look({"name": "sync", "lr": 0.01}, optimizer={"name": "sgd", "momentum": 0.5})
        assert found.effective_rate == pytest.approx(0.02)

    def test_an_outer_step_with_momentum_multiplies_the_rate(self) -> None:
        assert look({"name": "diloco", "lr": 0.01}, workers=2).effective_rate == pytest.approx(0.07, rel=0.06)

    def test_a_window_divides_the_traffic(self) -> None:
        every, tenth = look({"name": "async"}), look({"name": "adag", "window": 10})
        assert (every.pushed, every.pulled) == (pytest.approx(1), pytest.approx(1, abs=0.02))
        assert (tenth.pushed, tenth.pulled) == (pytest.approx(0.1), pytest.approx(0.1, abs=0.01))

    def test_staleness_is_that_of_the_gate(self) -> None:
        assert look({"name": "sync"}).staleness == 0
        assert look({"name": "async"}).staleness == pytest.approx(3, abs=0.05)
        assert look({"name": "async"}, gate={"mode": "asp", "max_staleness": 3}).staleness < 3

    def test_a_bound_of_ssp_makes_the_fast_wait_for_a_straggler(self) -> None:
        free, bound = (look({"name": "async"}, machines=UNEVEN, gate=gate) for gate in ("asp", {"ssp": 1}))
        assert free.busy == pytest.approx(1, abs=0.02)
        assert bound.busy < 0.5
        assert bound.samples_per_second < free.samples_per_second / 3

    def test_what_is_no_formula_is_run(self) -> None:
        """The distance rule halves a step that comes late; near a minimum it is DOWNPOUR."""
        known = look({"name": "async", "lr": 0.1}, curvature=9.0)
        run = look({"name": "distance", "lr": 0.1, "window": 1}, curvature=9.0)
        calm = look({"name": "distance", "lr": 0.1, "window": 1}, curvature=1.0)
        assert (known.limit, run.limit) == (pytest.approx(0.445, abs=0.001), None)
        assert (known.settles, calm.settles) == (False, True)

    def test_the_distance_is_the_share_of_the_limit(self) -> None:
        spec = job({"name": "async"}, workers=4)
        h = (limit(spec) or 0) / rate(spec)
        assert outlook(spec, FAST, SIZE, 5, h / 2).distance == pytest.approx(0.5)

    def test_what_is_counted_in_samples_does_not_matter(self) -> None:
        plain = look({"name": "async"})
        more = look({"name": "async"}, gate={"mode": "asp", "warm_start": 10**6}, schedule={"name": "constant", "warmup": 10**6})
        assert more.effective_rate == plain.effective_rate


LINE = """\
import torch
from torch import nn
from torch.utils.data import TensorDataset
from gradstream import Workload


class Line(Workload):
    kind: str = "square"

    def model(self):
        if self.kind == "norm":
            return nn.Sequential(nn.Linear(3, 1, bias=False), nn.BatchNorm1d(1))
        if self.kind == "sparse":
            return nn.Embedding(8, 1, sparse=True)
        return nn.Linear(3, 1, bias=False)

    def dataset(self, split):
        points = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
        return TensorDataset(points, points.sum(1, keepdim=True))

    def loss(self, model, batch):
        if self.kind == "sparse":
            return model(torch.arange(4)).square().mean()
        value = (model(batch[0]) - batch[1]).square().mean()
        return {"saddle": -value, "linear": model(batch[0]).mean()}.get(self.kind, value)
"""


@pytest.fixture
def line(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    module = f"line_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{module}.py").write_text(LINE)

    def measured_of(kind: str, **more: Any) -> Measurement:
        workload = {"entrypoint": f"{module}:Line", "args": {"kind": kind}}
        given = {"name": "line", "workload": workload, "strategy": {"name": "async"}, "stop": {"steps": 5}}
        return measure(JobSpec.model_validate({**given, "batch_size": 64, **more}), tmp_path)

    return measured_of


class TestMeasure:
    def test_the_curvature_of_least_squares_is_that_of_its_inputs(self, line: Any) -> None:
        points = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
        largest = float(torch.linalg.eigvalsh(2 / 64 * points.T @ points)[-1])
        assert line("square").curvature == pytest.approx(largest, rel=0.02)

    def test_a_loss_that_bends_down_only_has_its_largest_eigenvalue_below_0(self, line: Any) -> None:
        assert line("saddle").curvature < 0

    def test_a_straight_loss_has_none(self, line: Any) -> None:
        assert line("linear").curvature == 0

    def test_what_cannot_be_differentiated_twice_is_told(self, line: Any) -> None:
        found = line("sparse")
        assert found.curvature is None
        assert "differentiated twice" in found.unknown

    def test_sizes_are_those_on_the_wire_with_buffers(self, line: Any) -> None:
        plain, norm = line("square"), line("norm", pull_codec={"name": "bf16"})
        assert (plain.parameters, plain.pushed["raw"], plain.pulled) == (3, 12, 12)
        assert plain.pushed.keys() == CODECS.keys()
        assert (norm.parameters, norm.pushed["raw"]) == (5, 5 * 4 + 2 * 4 + 8)
        assert norm.pulled == 5 * 2 + 2 * 4 + 8
        assert plain.step > 0
