"""Stages of a pipeline compute what one process computes in micro-batches, with the same bits, and refuse what is no chain."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream import sim
from gradstream.errors import InvalidWorkload
from gradstream.group.peers import PeerLost
from gradstream.group.requests import Check, TakeUse
from gradstream.group.stages.bounds import stage_bounds
from gradstream.group.stages.pipeline import one_forward_one_backward
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests import nets
from tests.unit.group.chains import ADAG, SYNC, WIDTH, WORDS, Scripts, job, roles
from tests.unit.group.conftest import GroupProblems, kill_peer


@pytest.mark.few(2)
@pytest.mark.parametrize(("stages", "accumulate"), [(2, 2), (2, 4), (3, 4), (4, 8)])
@pytest.mark.parametrize("strategy", [SYNC, ADAG, {"name": "diloco", "lr": 0.1, "window": 3}], ids=lambda given: given["name"])
def test_stages_have_the_bits_of_one_process(
    strategy: dict[str, Any], stages: int, accumulate: int, grouped: GroupProblems
) -> None:
    """But for the tied weight, whose two parts are added in another order."""
    staged = sim.run(job(strategy, stages, accumulate), grouped)
    plain = sim.run(job(strategy, 1, accumulate), nets.problem)
    torch.testing.assert_close(staged.center, plain.center, rtol=1e-4, atol=1e-6)
    untied = slice(WORDS * WIDTH, None)
    if strategy is SYNC and stages == 2:
        first_step = sim.run(job(strategy, stages, accumulate, stop={"steps": 1}), grouped).center[untied]
        assert torch.equal(first_step, sim.run(job(strategy, 1, accumulate, stop={"steps": 1}), nets.problem).center[untied])


@pytest.mark.few(1)
@pytest.mark.parametrize("axis", ["replicate", "fsdp"])
@pytest.mark.parametrize(("pipelines", "stages"), [(2, 2), (2, 3), (3, 2)])
def test_several_pipelines_share_a_mini_batch(pipelines: int, stages: int, axis: str, grouped: GroupProblems) -> None:
    group = sim.run(job(SYNC, stages, stages, roles=roles({axis: pipelines, "stages": stages})), grouped)
    plain = sim.run(job(SYNC, 1, min(8, pipelines * stages)), nets.problem)
    torch.testing.assert_close(group.center, plain.center, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("axis", ["replicate", "fsdp"])
def test_statistics_of_several_pipelines_are_averaged(axis: str, grouped: GroupProblems) -> None:
    args = {"doing": "images"}
    problems = [grouped(job(SYNC, 1, 2, args, roles=roles(group)), 0) for group in ({axis: 2, "stages": 2}, {axis: 2})]
    for problem in problems:
        problem.gradient(0)
    found, expected = (problem.buffers() for problem in problems)
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found.floats, expected.floats)
    assert torch.equal(found.ints, expected.ints)


@pytest.mark.few(1)
@pytest.mark.parametrize("stages", [2, 3])
def test_batch_norm_sees_the_micro_batches_in_order(stages: int, grouped: GroupProblems) -> None:
    args = {"doing": "images"}
    staged = sim.run(job(ADAG, stages, 4, args), grouped)
    plain = sim.run(job(ADAG, 1, 4, args), nets.problem)
    assert torch.equal(staged.center, plain.center)
    spec = job(ADAG, stages, 4, args)
    one, other = grouped(spec, 0), nets.problem(job(ADAG, 1, 4, args), 0)
    for position in range(3):
        assert one.gradient(position).loss == other.gradient(position).loss
    mine, theirs = one.buffers(), other.buffers()
    assert mine is not None
    assert theirs is not None
    assert all(map(torch.equal, mine, theirs))


@pytest.mark.few(1)
@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 3), (3, 1)])
def test_a_checkpoint_resumes_in_another_number_of_stages(before: int, after: int, grouped: GroupProblems) -> None:
    args = {"doing": "images"}

    def problem(spec: JobSpec, rank: int) -> Any:
        return grouped(spec, rank) if spec.roles.worker.group.peers > 1 else nets.problem(spec, rank)

    def resumed(first: int, then: int) -> Tensor:
        checkpoint = sim.run(job(ADAG, first, 4, args), problem, checkpoints=[2]).checkpoints[2]
        return sim.run(job(ADAG, then, 4, args), problem, resume=checkpoint).center

    assert torch.equal(resumed(before, after), resumed(1, 1))


def test_random_numbers_outside_of_the_blocks_are_the_same_in_all_stages(grouped: GroupProblems) -> None:
    """Else a mask that the model draws before its blocks would differ between them, and the check would refuse the model."""
    two, three = (grouped(job(SYNC, stages, 4, {"doing": "noise"}), 0) for stages in (2, 3))
    first = two.gradient(0)
    torch.testing.assert_close(first.g, grouped(job(SYNC, 2, 4, {"doing": "noise"}), 0).gradient(0).g)
    assert two.gradient(1).loss != first.loss
    three.gradient(0)


@pytest.mark.parametrize("stages", [2, 3])
def test_a_model_may_change_what_a_block_gives_in_place(stages: int, grouped: GroupProblems) -> None:
    args = {"doing": "in place"}
    found = grouped(job(SYNC, stages, 4, args), 0).gradient(0)
    expected = nets.problem(job(SYNC, 1, 4, args), 0).gradient(0)
    assert found.loss == expected.loss
    torch.testing.assert_close(found.g, expected.g)


def test_a_first_layer_of_a_stage_may_compute_in_place(grouped: GroupProblems) -> None:
    """An activation in place begins the second stage."""
    args = {"doing": "rectified"}
    problem = grouped(job(SYNC, 2, 4, args), 0)
    assert stage_bounds([sum(p.numel() for p in block.parameters()) for block in problem._model.blocks], 2) == [0, 2, 4]
    assert torch.equal(problem.gradient(0).g, nets.problem(job(SYNC, 1, 4, args), 0).gradient(0).g)


@pytest.mark.parametrize(
    ("doing", "said"),
    [
        ("objects", "a block gives a Given, of which a stage cannot send the gradient"),
        ("goes around", "something goes around its blocks"),
        ("skips", "roles.worker.group.stages: the model fails when its blocks are shared out, and not as a whole: mat1 and mat2"),
        ("skips", "something goes around its blocks; override blocks(model) in the workload, or remove stages"),
        ("backwards", "the model called block 0 of 0 to 3 where its blocks had all been called"),
        ("twice", "block 0 of 0 to 3 where its blocks had all been called; loss() must call the model once, and the model each"),
    ],
)
def test_a_model_that_is_no_chain_is_refused(doing: str, said: str, grouped: GroupProblems) -> None:
    with pytest.raises(UserError) as caught:
        grouped(job(SYNC, 2, 4, {"doing": doing}), 0).gradient(0)
    assert isinstance(caught.value.__cause__, InvalidWorkload)
    assert said in str(caught.value.__cause__)


@pytest.mark.parametrize("stage", range(3))
def test_an_error_in_the_backward_of_any_stage_is_one_of_the_workload(stage: int, grouped: GroupProblems) -> None:
    with pytest.raises(UserError, match=r"^the workload failed in backward of loss\(\)$") as caught:
        grouped(job(SYNC, 3, 4, {"blocks_": 3, "doing": f"broken {stage}"}), 0).gradient(0)
    assert isinstance(caught.value.__cause__, ValueError)


def test_fewer_blocks_than_stages_are_refused(grouped: GroupProblems) -> None:
    with pytest.raises(UserError) as caught:
        grouped(job(SYNC, 5, 8), 0)
    assert "the model has 4 blocks, too few for 5 stages" in str(caught.value.__cause__)


def test_a_model_without_blocks_is_refused(grouped: GroupProblems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripts, "blocks", lambda self, model: [])
    with pytest.raises(UserError) as caught:
        grouped(job(SYNC, 2, 2), 0)
    assert isinstance(caught.value.__cause__, InvalidWorkload)


def test_a_killed_stage_ends_the_group(grouped: GroupProblems) -> None:
    problem = grouped(job(SYNC, 3, 4), 0)
    problem.gradient(0)
    kill_peer("worker-0/2")
    with pytest.raises(PeerLost, match=r"^peer 2 of worker-0 has ended \(killed by signal 9\)"):
        problem.gradient(1)


def test_a_stage_that_dies_after_its_answer_is_noticed_while_another_waits_for_it(grouped: GroupProblems) -> None:
    """The one before may still read from it, and waits for the lead then, which asks the dead one for nothing."""
    problem = grouped(job(SYNC, 3, 4), 0)
    peers, part = problem._others, problem.take(0).shares[0].batch
    peers.ask(1, Check(part))
    peers.ask(2, TakeUse())
    peers.answer(2)
    kill_peer("worker-0/2")
    with pytest.raises(PeerLost, match=r"^peer 2 of worker-0 has ended \(killed by signal 9\)"):
        peers.answer(1)


@pytest.mark.parametrize(("stages", "micro_batches"), [(1, 3), (2, 2), (2, 8), (4, 4), (4, 2), (3, 7)])
def test_each_micro_batch_goes_forward_and_then_back_once_in_every_stage(stages: int, micro_batches: int) -> None:
    for stage in range(stages):
        done = list(one_forward_one_backward(stage, stages, micro_batches))
        assert [number for number, forward in done if forward] == list(range(micro_batches))
        assert [number for number, forward in done if not forward] == list(range(micro_batches))
        alive = [sum(1 if forward else -1 for _, forward in done[:end]) for end in range(len(done) + 1)]
        assert max(alive) <= stages - stage
        assert min(alive) >= 0


@pytest.mark.parametrize(
    ("sizes", "count", "bounds"),
    [
        ([1] * 8, 2, [0, 4, 8]),
        ([1] * 8, 3, [0, 3, 6, 8]),
        ([10, 0, 0, 10], 2, [0, 1, 4]),
        ([0, 0, 0], 3, [0, 1, 2, 3]),
        ([1, 1, 100], 3, [0, 1, 2, 3]),
        ([100, 1, 1], 3, [0, 1, 2, 3]),
        ([5], 1, [0, 1]),
    ],
)
def test_stages_have_about_as_many_parameters_each(sizes: list[int], count: int, bounds: list[int]) -> None:
    assert stage_bounds(sizes, count) == bounds
