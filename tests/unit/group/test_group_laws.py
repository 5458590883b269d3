"""A group computes what one process computes in parts: the laws of `group: {replicate: m}`, with real processes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream import sim
from gradstream.group.mesh import share_out
from gradstream.input.data import Batches
from gradstream.model.computing.scaled import problem_of
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from tests import nets
from tests.nets import CPU
from tests.unit.group.conftest import GroupProblems


class Steep(nets.Net):
    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        factor = 1e4 if batch[0][0, 0] > 0 else 1.0
        return factor * nn.functional.cross_entropy(model(batch[0]), batch[1])


def job(peers: int | dict[str, int], strategy: dict[str, Any], kind: str = "plain", **more: Any) -> JobSpec:
    return nets.job(kind, strategy, roles={"worker": {"count": 2, "group": peers, "device": "cpu"}}, **more)


def in_parts(parts: int, strategy: dict[str, Any], kind: str = "plain", **more: Any) -> JobSpec:
    return nets.job(kind, strategy, workers=2, accumulate=parts, **more)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"single"}))
def test_two_peers_have_the_bits_of_two_parts(name: str, grouped: GroupProblems) -> None:
    strategy = {"name": name, "lr": 0.05}
    group, parts = sim.run(job(2, strategy), grouped), sim.run(in_parts(2, strategy), nets.problem)
    assert torch.equal(group.center, parts.center)
    assert group.losses == parts.losses


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["tied", "branch", "one", "within", "large"])
@pytest.mark.parametrize("strategy", [{"name": "sync", "lr": 0.1}, {"name": "adag", "lr": 0.1, "window": 3}], ids=str)
def test_models_of_every_kind_have_the_bits_of_two_parts(kind: str, strategy: dict[str, Any], grouped: GroupProblems) -> None:
    group, parts = sim.run(job(2, strategy, kind), grouped), sim.run(in_parts(2, strategy, kind), nets.problem)
    assert torch.equal(group.center, parts.center)


@pytest.mark.parametrize("kind", ["words", "mixed"])
def test_gradients_that_autograd_would_add_in_another_form_differ_by_its_rounding(kind: str, grouped: GroupProblems) -> None:
    """Those that are sparse are added without their order, and those in bfloat16 in the dtype of the center."""
    strategy = {"name": "sync", "lr": 0.1}
    group, parts = sim.run(job(2, strategy, kind), grouped), sim.run(in_parts(2, strategy, kind), nets.problem)
    near = 2e-3 if kind == "mixed" else 1e-6
    torch.testing.assert_close(group.center, parts.center, rtol=near, atol=near)


@pytest.mark.few(1)
@pytest.mark.parametrize(("peers", "accumulate"), [(3, 1), (4, 1), (2, 2), (8, 1)])
def test_more_peers_differ_by_rounding_alone(peers: int, accumulate: int, grouped: GroupProblems) -> None:
    """The last mini-batch of an epoch has 6 examples: fewer than 8 peers."""
    strategy = {"name": "sync", "lr": 0.1}
    group = sim.run(job(peers, strategy, accumulate=accumulate), grouped)
    parts = sim.run(in_parts(peers * accumulate, strategy), nets.problem)
    torch.testing.assert_close(group.center, parts.center, rtol=1e-5, atol=1e-6)


def test_batch_norm_averages_the_statistics_of_the_peers(grouped: GroupProblems) -> None:
    spec = job(2, {"name": "sync", "lr": 0.1}, "normed")
    problem = grouped(spec, 0)
    halves = [problem.take(0).shares[half].batch[0] for half in (0, 1)]
    first = UserCode(spec).model()[0]
    outputs = [first(half).detach() for half in halves]
    problem.gradient(0)
    buffers = problem.buffers()
    assert buffers is not None
    means = torch.stack([0.1 * output.mean(0) for output in outputs]).mean(0)
    torch.testing.assert_close(buffers.floats[:8], means)
    assert buffers.ints.tolist() == [1]


def test_a_checkpoint_holds_each_peer_and_resumes_with_the_same_bits(grouped: GroupProblems) -> None:
    spec = job(2, {"name": "adag", "lr": 0.1, "window": 2}, "normed")
    whole = sim.run(spec, grouped, checkpoints=[3])
    resumed = sim.run(spec, grouped, resume=whole.checkpoints[3])
    assert torch.equal(resumed.center, whole.center)


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2)])
def test_a_checkpoint_resumes_in_a_group_of_another_size(before: int, after: int, grouped: GroupProblems) -> None:
    strategy = {"name": "adag", "lr": 0.1, "window": 2}
    checkpoint = sim.run(job(before, strategy), grouped, checkpoints=[3]).checkpoints[3]
    resumed = sim.run(job(after, strategy), grouped, resume=checkpoint)
    of_one = sim.run(in_parts(1, strategy), nets.problem, checkpoints=[3]).checkpoints[3]
    plain = sim.run(in_parts(after, strategy), nets.problem, resume=of_one)
    torch.testing.assert_close(resumed.center, plain.center, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("parts", "count"), [(1, 2), (2, 2), (3, 2), (5, 4), (2, 4), (8, 3)])
def test_each_part_is_computed_once_and_in_order_and_the_lead_has_one(parts: int, count: int) -> None:
    given = [MicroBatch(number, 1 / parts) for number in range(parts)]
    shared = share_out(given, count)
    assert len(shared) == count
    assert shared[0]
    assert [part for peer in shared for part in peer] == given
    sizes = [len(peer) for peer in shared]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("strategy", [{"name": "sync", "lr": 1e-4}, {"name": "adag", "lr": 1e-4, "window": 3}], ids=str)
def test_one_loss_scale_belongs_to_the_group(strategy: dict[str, Any], grouped: GroupProblems) -> None:
    """Some parts are so steep that they overflow: in both peers, in one, and in none."""
    fields: dict[str, Any] = {
        "precision": "fp16",
        "on_nan": "drop",
        "workload": {"entrypoint": "tests.unit.group.test_group_laws:Steep"},
    }
    fields["workload"]["args"] = {"kind": "plain"}
    made: list[Any] = []

    def noted(spec: JobSpec, rank: int) -> Any:
        code = UserCode(spec)
        in_group = spec.roles.worker.group.peers > 1
        flat = FlatModel(code.model(), CPU)
        made.append(grouped(spec, rank) if in_group else problem_of(code, flat, Batches(code.dataset("train"), spec, rank), spec))
        return made[-1]

    group, parts = sim.run(job(2, strategy, **fields), noted), sim.run(in_parts(2, strategy, **fields), noted)
    assert torch.equal(group.center, parts.center)
    states = [problem.scale.state() for problem in made]
    assert states[:2] == states[2:]
    assert min(state["overflows"] for state in states) > 0
