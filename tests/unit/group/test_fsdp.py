"""Laws of `group: {fsdp: m}`, with real processes: it computes what one process computes in m parts, and keeps less."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gradstream import sim
from gradstream.group.fsdp.buckets import in_rows
from gradstream.group.fsdp.optimizer import GroupOptimizer
from gradstream.group.peers import PeerLost
from gradstream.optim.flat import FlatOptimizer
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from tests import nets
from tests.unit.group.conftest import GroupProblems, kill_peer

ADAG = {"name": "adag", "lr": 0.05, "window": 3}
RULES: list[dict[str, Any]] = [
    {"name": "sgd", "momentum": 0.9},
    {"name": "sgd", "momentum": 0.9, "clip_norm": 0.01},
    {"name": "sgd", "clip_norm": 0.01},
    {"name": "adagrad"},
    {"name": "adam", "clip_parameter_norm": 0.1},
    {"name": "adamw", "groups": [{"match": "*.bias", "lr_factor": 2, "weight_decay": 0}]},
    {"name": "lars"},
    {"name": "lamb"},
    {"name": "muon"},
]


class Twice(nets.Net):
    """Its first layer is computed twice, and each use runs backward by itself: its gradient comes in two pieces."""

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        first, *others = model.children()
        x = batch[0].clone().requires_grad_()
        y = checkpoint(first, x, use_reentrant=True) + checkpoint(first, 2 * x, use_reentrant=True)
        return nn.functional.cross_entropy(nn.Sequential(*others)(y), batch[1])


def job(peers: int, strategy: dict[str, Any], kind: str = "plain", axis: str = "fsdp", workers: int = 2, **more: Any) -> JobSpec:
    return nets.job(kind, strategy, roles={"worker": {"count": workers, "group": {axis: peers}, "device": "cpu"}}, **more)


def in_parts(parts: int, strategy: dict[str, Any], kind: str = "plain", workers: int = 2, **more: Any) -> JobSpec:
    return nets.job(kind, strategy, workers=workers, accumulate=parts, **more)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"single"}))
def test_two_peers_have_the_bits_of_two_parts(name: str, grouped: GroupProblems) -> None:
    strategy = {"name": name, "lr": 0.05}
    group, parts = sim.run(job(2, strategy), grouped), sim.run(in_parts(2, strategy), nets.problem)
    assert torch.equal(group.center, parts.center)
    assert group.losses == parts.losses


@pytest.mark.few(2)
@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("kind", ["tied", "branch", "one", "within", "large", "normed"])
@pytest.mark.parametrize("strategy", [{"name": "sync", "lr": 0.1}, ADAG], ids=lambda strategy: strategy["name"])
def test_models_of_every_kind_have_the_bits_of_two_parts(kind: str, strategy: dict[str, Any], grouped: GroupProblems) -> None:
    more = {"optimizer": {"name": "adam"}} if strategy is ADAG else {}
    group = sim.run(job(2, strategy, kind, **more), grouped)
    parts = sim.run(in_parts(2, strategy, kind, **more), nets.problem)
    assert torch.equal(group.center, parts.center)


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("kind", ["normed", "words", "mixed", "tied"])
def test_two_peers_have_the_bits_of_two_replicates(kind: str, grouped: GroupProblems) -> None:
    """Also the statistics of BatchNorm, and gradients that are sparse or narrower than the center."""
    found = []
    for axis in ("fsdp", "replicate"):
        problem = grouped(job(2, ADAG, kind, axis), 0)
        gradients = [problem.gradient(position).g.clone() for position in range(3)]
        found.append((gradients, problem.buffers(), problem.state()["peers"][0]["rng"]["torch"]))
    (fsdp, own, rng), (replicate, others, other_rng) = found
    assert all(map(torch.equal, fsdp, replicate))
    assert torch.equal(rng, other_rng)
    assert (own is None) == (others is None)
    if own and others:
        assert all(map(torch.equal, own, others))


@pytest.mark.usefixtures("small_buckets")
def test_a_gradient_that_comes_after_its_bucket_is_added_all_the_same(grouped: GroupProblems) -> None:
    workload = {"entrypoint": "tests.unit.group.test_fsdp:Twice", "args": {"kind": "plain"}}
    group = sim.run(job(3, ADAG, accumulate=2, workload=workload), grouped)
    parts = sim.run(in_parts(6, ADAG, workload=workload), nets.problem)
    torch.testing.assert_close(group.center, parts.center, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("small_buckets")
def test_a_process_keeps_no_gradient_that_it_has_added(grouped: GroupProblems) -> None:
    problem = grouped(job(2, ADAG, accumulate=2), 0)
    kept: list[bool] = []
    for p in problem._flat.trained:
        p.register_post_accumulate_grad_hook(lambda p: kept.append(p.grad is not None))
    problem.gradient(0)
    assert kept == [False] * 8, "four parameters, two parts"


@pytest.mark.few(2)
@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize(("peers", "accumulate", "members"), [(3, 1, 1), (4, 1, 1), (2, 2, 1), (3, 2, 1), (8, 1, 1), (2, 2, 2)])
def test_any_number_of_peers_has_the_bits_of_as_many_parts(
    peers: int, accumulate: int, members: int, grouped: GroupProblems
) -> None:
    """The parts add up in their order. The last mini-batch of an epoch has 6 examples: fewer than 8 peers."""
    more: dict[str, Any] = {"optimizer": {"name": "adam"}, "members": members}
    group = sim.run(job(peers, ADAG, accumulate=accumulate, **more), grouped)
    parts = sim.run(in_parts(peers * accumulate, ADAG, **more), nets.problem)
    assert torch.equal(group.center, parts.center)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("rule", "kind"), [*((rule, kind) for rule in RULES for kind in ("plain", "large")), ({"name": "adam"}, "one")], ids=str
)
def test_a_shared_optimizer_has_the_bits_of_one(rule: dict[str, Any], kind: str, grouped: GroupProblems) -> None:
    """With three peers of the smaller models, some have no part of theta."""
    group = sim.run(job(3, ADAG, kind, optimizer=rule), grouped)
    parts = sim.run(in_parts(3, ADAG, kind, optimizer=rule), nets.problem)
    assert torch.equal(group.center, parts.center)


@pytest.mark.few(3)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_shared_optimizer_keeps_the_state_of_one(rule: dict[str, Any], grouped: GroupProblems) -> None:
    spec = job(3, ADAG, "large", workers=1, optimizer=rule)
    problem = grouped(spec, 0)
    shared = problem.make_optimizer(spec.optimizer, 0.05)
    assert isinstance(shared, GroupOptimizer)
    theta = problem.theta.clone()
    alone = FlatOptimizer(theta, spec.optimizer, 0.05, parameters=problem.parameters)
    for number in range(3):
        direction = torch.randn(theta.shape, generator=torch.Generator().manual_seed(number))
        for optimizer in (shared, alone):
            optimizer.step(direction, 0.5)
        if number == 1:  # each goes on with the state of the other
            states = shared.state(), alone.state()
            _assert_same(*states)
            shared.load(states[1])
            alone.load(states[0])
            shared.set_vectors(alone.vectors())
    assert torch.equal(problem.theta, theta)
    assert all(map(torch.equal, shared.vectors(), alone.vectors()))
    shared.reset()
    assert not any(vector.any() for vector in shared.vectors())


def _assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _assert_same(one[key], other[key])
    else:
        assert torch.equal(one, other) if isinstance(one, Tensor) else one == other


@pytest.mark.few(2)
@pytest.mark.parametrize("optimizer", [{"name": "adam"}, {"name": "lamb"}], ids=str)
@pytest.mark.parametrize(
    ("before", "after"), [({"fsdp": 2}, {"fsdp": 3}), ({"fsdp": 3}, {"fsdp": 2}), (1, {"fsdp": 3}), ({"fsdp": 3}, 1)], ids=str
)
def test_a_checkpoint_resumes_in_a_group_of_another_shape(
    before: Any, after: Any, optimizer: dict[str, Any], grouped: GroupProblems
) -> None:
    """With as many parts in all, not a bit differs."""

    def run(group: Any, **more: Any) -> sim.Result:
        peers = group if group == 1 else group["fsdp"]
        roles = {"worker": {"count": 2, "group": group, "device": "cpu"}}
        spec = nets.job("large", ADAG, roles=roles, accumulate=6 // peers, optimizer=optimizer)
        return sim.run(spec, grouped if peers > 1 else nets.problem, **more)

    whole = run(before, checkpoints=[3])
    assert torch.equal(run(after, resume=whole.checkpoints[3]).center, whole.center)


@pytest.mark.parametrize("optimizer", [{"name": "adam"}], ids=str)
def test_averaged_optimizers_are_those_of_one_process(optimizer: dict[str, Any], grouped: GroupProblems) -> None:
    strategy = {"name": "local_sgd", "lr": 0.05, "window": 2, "inner": "average"}
    group = sim.run(job(2, strategy, "large", optimizer=optimizer), grouped)
    parts = sim.run(in_parts(2, strategy, "large", optimizer=optimizer), nets.problem)
    assert torch.equal(group.center, parts.center)


@pytest.mark.parametrize("sizes", [[1], [5, 5, 5], [100, 1, 1], [0, 0], [3, 0, 9, 2, 8], []], ids=str)
def test_buckets_hold_each_parameter_once_and_in_order(sizes: list[int]) -> None:
    found = in_rows(sizes, 8)
    assert [index for bucket in found for index in bucket] == list(range(len(sizes)))
    assert all(one.stop == next_one.start for one, next_one in pairwise(found))
    held = [sum(sizes[index] for index in bucket) for bucket in found]
    assert all(size >= 8 for size in held[:-1])
    assert all(sum(sizes[index] for index in bucket[:-1]) < 8 for bucket in found), "a bucket ends as soon as it is large enough"


def test_a_killed_peer_ends_the_group_while_others_wait_for_its_turn(grouped: GroupProblems) -> None:
    problem = grouped(job(3, ADAG, accumulate=2), 0)
    kill_peer("worker-0/1")
    with pytest.raises(PeerLost, match=r"^peer [12] of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(0)
