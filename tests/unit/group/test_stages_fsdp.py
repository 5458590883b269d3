"""Laws of `group: {fsdp: m, stages: p}`, with real processes: pipelines compute what one process computes in parts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.group.fsdp.optimizer import GroupOptimizer
from gradstream.group.peers import PeerLost
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from tests import nets
from tests.unit.group.chains import ADAG, SYNC, WIDTH, WORDS, job, roles
from tests.unit.group.conftest import GroupProblems, kill_peer

IMAGES = {"doing": "images"}


def pipelines(strategy: dict[str, Any], fsdp: int, stages: int, accumulate: int, args: dict[str, Any], **more: Any) -> JobSpec:
    return job(strategy, stages, accumulate, args, roles=roles({"fsdp": fsdp, "stages": stages}), **more)


@pytest.mark.few(2)
@pytest.mark.parametrize(("fsdp", "stages", "accumulate"), [(2, 2, 2), (2, 2, 4), (3, 2, 2), (2, 3, 3), (4, 2, 2)])
@pytest.mark.parametrize(
    ("strategy", "optimizer"),
    [
        (SYNC, {"name": "sgd"}),
        (ADAG, {"name": "adam"}),
        (ADAG, {"name": "lamb"}),
        ({"name": "local_sgd", "lr": 0.05, "window": 2, "inner": "average"}, {"name": "sgd", "momentum": 0.9, "clip_norm": 0.01}),
        ({"name": "diloco", "lr": 0.1, "window": 3}, {"name": "adamw"}),
    ],
    ids=str,
)
def test_pipelines_with_one_gradient_have_the_bits_of_one_process(
    fsdp: int, stages: int, accumulate: int, strategy: dict[str, Any], optimizer: dict[str, Any], grouped: GroupProblems
) -> None:
    """The last mini-batch of an epoch has 4 examples: fewer than pipelines have parts together."""
    more: dict[str, Any] = {"batch_size": 10, "optimizer": optimizer}
    group = sim.run(pipelines(strategy, fsdp, stages, accumulate, IMAGES, **more), grouped)
    plain = sim.run(job(strategy, 1, fsdp * accumulate, IMAGES, **more), nets.problem)
    assert torch.equal(group.center, plain.center)


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("stages", [2, 3])
def test_a_weight_of_two_stages_is_added_last(stages: int, grouped: GroupProblems) -> None:
    """All others have the bits of one process, though each bucket waits for its turn within backward."""
    group, plain = grouped(pipelines(SYNC, 2, stages, 3, {}), 0), nets.problem(job(SYNC, 1, 6), 0)
    for position in range(3):
        found, expected = group.gradient(position).g, plain.gradient(position).g
        assert torch.equal(found[WORDS * WIDTH :], expected[WORDS * WIDTH :])
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_a_penalty_on_all_weights_reaches_them_in_the_last_stage(grouped: GroupProblems) -> None:
    args = {"doing": "penalty"}
    expected = nets.problem(job(SYNC, 1, 4, args), 0)
    groups = [grouped(job(SYNC, 2, 2, args, roles=roles({axis: 2, "stages": 2})), 0) for axis in ("replicate", "fsdp")]
    for position in range(2):
        gradient = expected.gradient(position).g
        for group in groups:
            torch.testing.assert_close(group.gradient(position).g, gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"single"}))
def test_every_strategy_has_the_bits_of_one_process(name: str, grouped: GroupProblems) -> None:
    strategy = {"name": name, "lr": 0.05}
    group = sim.run(pipelines(strategy, 2, 2, 2, IMAGES), grouped)
    assert torch.equal(group.center, sim.run(job(strategy, 1, 4, IMAGES), nets.problem).center)


@pytest.mark.usefixtures("small_buckets")
def test_a_gradient_that_comes_after_its_bucket_is_added_all_the_same(grouped: GroupProblems) -> None:
    args = {"doing": "within"}
    group, plain = grouped(pipelines(SYNC, 2, 2, 2, args), 0), nets.problem(job(SYNC, 1, 4, args), 0)
    for position in range(2):
        torch.testing.assert_close(group.gradient(position).g, plain.gradient(position).g, rtol=1e-5, atol=1e-6)


@pytest.mark.more
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_narrow_numbers_are_those_of_replicates(precision: str, grouped: GroupProblems) -> None:
    """One loss scale is that of the group, and the first gradients overflow in the same mini-batches."""
    groups = [
        grouped(job(SYNC, 2, 2, IMAGES, roles=roles({axis: 2, "stages": 2}), precision=precision, on_nan="drop"), 0)
        for axis in ("fsdp", "replicate")
    ]
    for position in range(3):
        one, other = (group.gradient(position).g for group in groups)
        torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-3, equal_nan=True)
    assert groups[0].scale is None or groups[0].scale.state() == groups[1].scale.state()  # type: ignore[union-attr]


@pytest.mark.more
@pytest.mark.parametrize("optimizer", [{"name": "adam"}, {"name": "muon"}], ids=str)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"fsdp": 2, "stages": 2}, {"fsdp": 2, "stages": 3}),
        ({"fsdp": 2, "stages": 2}, 1),
        (1, {"fsdp": 2, "stages": 2}),
        ({"fsdp": 4}, {"fsdp": 2, "stages": 2}),
        ({"fsdp": 2, "stages": 2}, {"stages": 3}),
    ],
    ids=str,
)
def test_a_checkpoint_resumes_in_a_group_of_another_shape(
    before: Any, after: Any, optimizer: dict[str, Any], grouped: GroupProblems
) -> None:
    """With as many parts in all, not a bit differs. A model with BatchNorm would keep the mean over other groups of parts."""

    def run(group: Any, **more: Any) -> sim.Result:
        parts = 1 if group == 1 else group.get("fsdp", 1)
        spec = job(ADAG, 1, 8 // parts, {"doing": "rectified"}, roles=roles(group), optimizer=optimizer)
        return sim.run(spec, nets.problem if group == 1 else grouped, **more)

    whole = run(before, checkpoints=[3])
    assert torch.equal(run(after, resume=whole.checkpoints[3]).center, whole.center)


def test_the_optimizer_is_shared_out_among_all_processes(grouped: GroupProblems) -> None:
    spec = pipelines(ADAG, 2, 2, 2, IMAGES, optimizer={"name": "adam"})
    problem = grouped(spec, 0)
    shared = problem.make_optimizer(spec.optimizer, 0.05)
    assert isinstance(shared, GroupOptimizer)
    assert len(shared._parts) == 4
    assert sum(part.stop - part.start for part in shared._parts) == problem.theta.numel()


def test_places_beside_the_gradient_take_memory_only_where_a_stage_reaches(grouped: GroupProblems) -> None:
    problem = grouped(pipelines(SYNC, 2, 2, 2, {}), 0)
    problem.gradient(0)
    [[first, last]] = problem._model.memory.beside
    assert not first.any(), "all that the first stage reaches is at home there"
    assert last[: WORDS * WIDTH].any(), "the head's part of the tied weight"
    assert not last[WORDS * WIDTH :].any()


@pytest.mark.few(1)
@pytest.mark.parametrize("victim", [1, 2, 3])
def test_a_killed_process_ends_the_group(victim: int, grouped: GroupProblems) -> None:
    problem = grouped(pipelines(SYNC, 2, 2, 2, {}), 0)
    problem.gradient(0)
    kill_peer(f"worker-0/{victim}")
    with pytest.raises(PeerLost, match=r"^peer [123] of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(1)
