"""Laws of groups over several machines, with real processes: such a group computes what it computes on one machine."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream import sim
from gradstream.group.peers import MachineLost, PeerLost
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests import nets
from tests.unit.group import test_peers, test_tensor
from tests.unit.group.conftest import GroupProblems, kill_peer
from tests.unit.group.test_tensor import PLAN

ADAG = {"name": "adag", "lr": 0.1, "window": 2}
LANGUAGE = {"kind": "language", "plan": PLAN}


class Steep(nets.Net):
    """Some parts are so steep that they overflow in float16."""

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        factor = 1e4 if batch[0][0, 0] > 0 else 1.0
        return factor * nn.functional.cross_entropy(model(batch[0]), batch[1])


@pytest.fixture(autouse=True)
def lead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workloads of `test_peers` ask which process they are in."""
    monkeypatch.setenv("GROUP_TEST_LEAD", str(os.getpid()))


def over(machines: int, spec: JobSpec) -> JobSpec:
    """Return this job with its groups on so many machines."""
    whole = spec.model_dump(mode="json")
    whole["roles"]["worker"]["group"]["machines"] = machines
    return JobSpec.model_validate(whole)


def replicates(count: int, strategy: dict[str, Any], kind: str = "plain", **more: Any) -> JobSpec:
    return nets.job(kind, strategy, roles={"worker": {"count": 2, "group": count, "device": "cpu"}}, **more)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["plain", "normed", "branch", "tied"])
@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        ({"name": "sync", "lr": 0.1}, {}),
        ({"name": "async", "lr": 0.05}, {"optimizer": {"name": "adam"}}),
        (ADAG, {"accumulate": 2}),
        ({"name": "easgd", "lr": 0.1, "window": 2}, {"codec": {"name": "int8"}}),
    ],
    ids=lambda given: given.get("name", ""),
)
@pytest.mark.parametrize("count", [2, 3])
def test_one_replicate_on_each_machine_has_the_bits_of_one_machine(
    count: int, strategy: dict[str, Any], more: dict[str, Any], kind: str, grouped: GroupProblems, spread: GroupProblems
) -> None:
    spec = replicates(count, strategy, kind, **more)
    one, other = sim.run(spec, grouped), sim.run(over(count, spec), spread)
    assert torch.equal(one.center, other.center)
    assert one.losses == other.losses


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("machines", "group", "args"),
    [
        (2, {"replicate": 4}, {"kind": "images"}),
        (2, {"replicate": 4, "tensor": 2}, LANGUAGE),
        (2, {"replicate": 2, "stages": 2}, {"kind": "images"}),
        (2, {"replicate": 2, "fsdp": 2, "stages": 2}, LANGUAGE),
        (2, {"replicate": 2, "fsdp": 2}, {"kind": "tied"}),
        (3, {"replicate": 3, "tensor": 2}, {"kind": "mlp"}),
    ],
    ids=str,
)
def test_all_axes_are_within_a_machine_and_sums_differ_by_rounding_alone(
    machines: int, group: dict[str, int], args: dict[str, Any], grouped: GroupProblems, spread: GroupProblems
) -> None:
    """The last mini-batch has 4 examples: fewer than some of these groups have parts."""
    optimizer = {"name": "sgd", "momentum": 0.9, "clip_norm": 0.1}
    strategy = {"name": "local_sgd", "lr": 0.01, "window": 2}
    spec = test_tensor.job(args, group, strategy, accumulate=group.get("stages", 1), optimizer=optimizer)
    one, other = sim.run(spec, grouped), sim.run(over(machines, spec), spread)
    assert other.center.dtype == torch.float64
    torch.testing.assert_close(other.center, one.center, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("group", [{"replicate": 2}, {"replicate": 2, "tensor": 2}, {"replicate": 2, "stages": 2}], ids=str)
def test_dropout_draws_the_numbers_of_one_machine(group: dict[str, int], grouped: GroupProblems, spread: GroupProblems) -> None:
    """Each replicate draws its own."""
    spec = test_tensor.job({"kind": "dropped"}, group, accumulate=group.get("stages", 1))
    found = []
    for make, wanted in ((grouped, spec), (spread, over(2, spec))):
        torch.manual_seed(0)  # both leads draw in this process, and those along tensor draw like their lead
        problem = make(wanted, 0)
        found.append([problem.gradient(position).g.clone() for position in range(2)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-12, atol=1e-12)


def test_batch_norm_averages_the_statistics_of_all_machines(grouped: GroupProblems, spread: GroupProblems) -> None:
    spec = test_tensor.job({"kind": "images"}, {"replicate": 2, "stages": 2}, accumulate=2)
    one, other = grouped(spec, 0), spread(over(2, spec), 0)
    for problem in (one, other):
        problem.gradient(0)
    found, expected = other.buffers(), one.buffers()
    assert found is not None
    assert expected is not None
    assert torch.equal(found.floats, expected.floats)
    assert torch.equal(found.ints, expected.ints)
    other.load_buffers(found)
    assert [state["rng"] is not None for state in (other.state(), *other.state()["peers"])] == [True] * 4


@pytest.mark.few(1)
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("kind", ["normed", "plain"])
def test_a_checkpoint_resumes_on_any_number_of_machines_with_the_same_bits(
    kind: str, before: int, after: int, grouped: GroupProblems, spread: GroupProblems
) -> None:
    spec = replicates(2, ADAG, kind)
    make = {1: grouped, 2: spread}
    whole = sim.run(over(before, spec), make[before], checkpoints=[3])
    resumed = sim.run(over(after, spec), make[after], resume=whole.checkpoints[3])
    assert torch.equal(resumed.center, whole.center)


def test_one_loss_scale_belongs_to_all_machines(grouped: GroupProblems, spread: GroupProblems) -> None:
    workload = {"entrypoint": f"{__name__}:Steep", "args": {"kind": "plain"}}
    spec = replicates(2, {"name": "sync", "lr": 1e-4}, precision="fp16", on_nan="drop", workload=workload)
    one, other = sim.run(spec, grouped), sim.run(over(2, spec), spread)
    assert torch.equal(one.center, other.center)


def test_logged_values_observations_and_uses_of_all_machines_come_to_the_lead(
    grouped: GroupProblems, spread: GroupProblems
) -> None:
    spec = test_peers.job("logs", peers=4)
    one, other = grouped(spec, 0), spread(over(2, spec), 0)
    for problem in (one, other):
        problem.gradient(0)
        uses = problem.take_peer_uses()
        assert len(uses) == 3
        assert all(use.memory > 0 and use.computed > 0 for use in uses)
    assert other.logged.take() == pytest.approx(one.logged.take())
    observing = spread(over(2, test_peers.job("observes", peers=2)), 0)
    observing.gradient(0)
    observed = observing.take_observations()
    assert observed is not None
    assert observed.examples == 8


def test_an_error_on_another_machine_is_raised_with_its_place(spread: GroupProblems) -> None:
    with pytest.raises(UserError, match=r"the workload failed in loss\(\)") as raised:
        spread(over(2, test_peers.job("raises", peers=2)), 0).gradient(0)
    assert "a peer does not like this" in str(raised.value.__cause__)
    assert any("in peer 1" in note for note in getattr(raised.value.__cause__, "__notes__", []))


def test_a_killed_process_on_another_machine_is_named(spread: GroupProblems) -> None:
    problem = spread(over(2, test_peers.job(peers=4)), 0)
    kill_peer("worker-0/3")
    with pytest.raises(PeerLost, match=r"^peer 3 of worker-0 has ended \(killed by signal 9\), and with it the whole worker"):
        problem.gradient(0)


def test_another_machine_that_is_lost_is_named(spread: GroupProblems) -> None:
    problem = spread(over(2, test_peers.job(peers=2)), 0)
    kill_peer("machine-1")
    told = "the connection to peer 1 of worker-0, on another machine, broke, and with it the whole worker ends"
    with pytest.raises(MachineLost, match=f"^{re.escape(told)}$"):
        problem.gradient(0)
