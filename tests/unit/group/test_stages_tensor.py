"""Laws of `group: {stages: p, tensor: t}`, with real processes: it computes what one process does, but for the rounding of sums."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

from gradstream import sim
from gradstream.group.peers import PeerLost
from gradstream.input import randomness
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests import nets
from tests.unit.group.conftest import GroupProblems, kill_peer
from tests.unit.group.test_tensor import PAIRS, PLAN, SYNC, Parted, job, refused

LANGUAGE = {"kind": "language", "plan": PLAN}
BOTH = {"stages": 2, "tensor": 2}


class Shares(Parted):
    """Between a colwise and a rowwise layer, it works on all columns together: shares that add up to 1."""

    def model(self) -> nn.Module:
        last = nn.Linear(8, 3)
        nn.init.normal_(last.weight, std=5)
        return nn.Sequential(nn.Linear(5, 8), nn.Softmax(-1), last).double()


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [BOTH, {"stages": 2, "tensor": 3}, {"replicate": 2, "stages": 2, "tensor": 2}], ids=str)
@pytest.mark.parametrize(
    ("args", "strategy", "more"),
    [
        (LANGUAGE, SYNC, {}),
        ({"kind": "language"}, SYNC, {}),
        (LANGUAGE, {"name": "diloco", "lr": 0.1, "window": 2}, {"recompute": "blocks"}),
        (LANGUAGE, {"name": "local_sgd", "lr": 0.01, "window": 2}, {"optimizer": {"name": "sgd", "momentum": 0.9}}),
        ({"kind": "mlp"}, {"name": "async", "lr": 0.01}, {"codec": {"name": "int8"}}),
    ],
    ids=str,
)
def test_split_stages_compute_what_one_process_computes(
    group: dict[str, int], args: dict[str, Any], strategy: dict[str, Any], more: dict[str, Any], grouped: GroupProblems
) -> None:
    """Widths of 13, 7, 4 and 3 over three: one process has fewer columns, or none."""
    parts = 2 * group.get("replicate", 1)
    split = sim.run(job(args, group, strategy, accumulate=2, **more), grouped)
    whole = sim.run(job(args, 1, strategy, accumulate=parts, **more), nets.problem)
    assert split.center.dtype == torch.float64
    torch.testing.assert_close(split.center, whole.center, rtol=1e-12, atol=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("stages", [2, 3])
def test_batch_norm_sees_the_micro_batches_in_order(stages: int, grouped: GroupProblems) -> None:
    args = {"kind": "images"}
    split = grouped(job(args, {"stages": stages, "tensor": 2}, accumulate=4), 0)
    whole = nets.problem(job(args, 1, accumulate=4), 0)
    for position in range(3):
        one, other = split.gradient(position), whole.gradient(position)
        torch.testing.assert_close(one.g, other.g, rtol=1e-12, atol=1e-12)
        assert one.loss == pytest.approx(other.loss, rel=1e-12)
    mine, theirs = split.buffers(), whole.buffers()
    assert mine is not None
    assert theirs is not None
    torch.testing.assert_close(mine.floats, theirs.floats, rtol=1e-12, atol=1e-12)
    assert torch.equal(mine.ints, theirs.ints)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("before", "after"),
    [(BOTH, 1), (1, BOTH), (BOTH, {"stages": 3}), ({"tensor": 3}, BOTH), (BOTH, {"stages": 3, "tensor": 2})],
    ids=str,
)
def test_a_checkpoint_resumes_in_another_group(before: Any, after: Any, grouped: GroupProblems) -> None:
    def make(spec: JobSpec, rank: int) -> Any:
        return grouped(spec, rank) if spec.roles.worker.group.peers > 1 else nets.problem(spec, rank)

    def run(group: Any, **more: Any) -> sim.Result:
        strategy = {"name": "adag", "lr": 0.1, "window": 2}
        return sim.run(job({"kind": "images"}, group, strategy, accumulate=4), make, **more)

    resumed = run(after, resume=run(before, checkpoints=[1]).checkpoints[1])
    whole = run(1, resume=run(1, checkpoints=[1]).checkpoints[1])
    torch.testing.assert_close(resumed.center, whole.center, rtol=1e-12, atol=1e-12)


@pytest.mark.more
def test_a_checkpoint_has_one_state_of_each_stage(grouped: GroupProblems) -> None:
    state = grouped(job({"kind": "images"}, {"replicate": 2, **BOTH}, accumulate=2), 0).state()
    assert len(state["peers"]) == 3


@pytest.mark.more
def test_dropout_between_split_layers_is_repeated(grouped: GroupProblems) -> None:
    """The processes of a stage go on alike after it, or they would find losses that differ."""
    found = []
    for _ in range(2):
        randomness.seed(1)
        problem = grouped(job({**LANGUAGE, "dropout": 0.5}, BOTH, accumulate=2), 0)
        found.append([(each.loss, each.g.clone()) for each in map(problem.gradient, range(3))])
    assert all(one[0] == other[0] and torch.equal(one[1], other[1]) for one, other in zip(*found, strict=True))


@pytest.mark.few(1)
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_narrow_numbers_are_near_to_those_of_stages(precision: str, grouped: GroupProblems) -> None:
    args = {**LANGUAGE, "double": False}
    split, staged = (grouped(job(args, group, accumulate=2, precision=precision), 0) for group in (BOTH, {"stages": 2}))
    for position in range(3):
        one, other = split.gradient(position).g, staged.gradient(position).g
        assert bool(one.isfinite().all()) == bool(other.isfinite().all())
        assert not one.isfinite().all() or float((one - other).norm() / other.norm()) < 0.1
    assert (split.scale and split.scale.value) == (staged.scale and staged.scale.value)


def test_all_stages_leave_their_gradients_in_one_vector(grouped: GroupProblems) -> None:
    """No weight is in two stages, so nothing beside it takes memory."""
    problem = grouped(job({"kind": "mlp"}, BOTH, accumulate=2), 0)
    problem.gradient(0)
    assert problem._model.memory.sums[0].all()
    assert not any(beside.any() for beside in problem._model.memory.beside[0])


@pytest.mark.parametrize(
    ("workload", "args", "said"),
    [
        (
            "test_tensor:Parted",
            {"kind": "language", "plan": PAIRS},
            r"another gradient of the parameter blocks\.[01]\.attention\.norm\.weight",  # of the stage that is first to find it
        ),
        (
            "test_stages_tensor:Shares",
            {"kind": "mlp", "plan": {"0": "colwise", "2": "rowwise"}},
            r"the stages compute a loss of .*: something goes around its blocks, or tensor_plan\(\) splits what belongs together",
        ),
    ],
    ids=["norm", "shares"],
)
def test_what_computes_something_else_is_refused(workload: str, args: dict[str, Any], said: str, grouped: GroupProblems) -> None:
    entrypoint = f"tests.unit.group.{workload}"
    problem = grouped(job(args, BOTH, accumulate=2, workload={"entrypoint": entrypoint, "args": args}), 0)
    assert re.search(said, refused(lambda: problem.gradient(0)))


def test_a_plan_that_fails_is_an_error_of_user_code(grouped: GroupProblems) -> None:
    """The lead or another process raises it, and no process waits for one that has failed."""
    args = {"kind": "language", "plan": {**PAIRS, "*.down": "colwise"}}
    with pytest.raises(UserError, match=r"the workload failed in loss\(\)"):
        grouped(job(args, BOTH, accumulate=2), 0).gradient(0)


@pytest.mark.parametrize("victim", [1, 2, 3])
def test_a_killed_process_ends_the_group(victim: int, grouped: GroupProblems) -> None:
    problem = grouped(job(LANGUAGE, BOTH, accumulate=2), 0)
    problem.gradient(0)
    kill_peer(f"worker-0/{victim}")
    with pytest.raises(PeerLost, match=r"^peer [123] of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(1)
