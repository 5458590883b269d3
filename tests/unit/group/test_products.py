"""Laws of three and four axes at once, with real processes: such a group computes what one process computes in parts."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream import sim
from gradstream.group.fsdp.optimizer import GroupOptimizer
from gradstream.group.mesh import PeerMesh, shares_of
from gradstream.group.peers import PeerLost
from gradstream.model.parts import MicroBatch
from gradstream.spec import JobSpec
from tests import nets
from tests.unit.group.chains import ADAG
from tests.unit.group.chains import job as chain
from tests.unit.group.chains import roles as roles_of
from tests.unit.group.conftest import GroupProblems, kill_peer
from tests.unit.group.test_tensor import PLAN, SYNC, Parted, job

THREE = {"fsdp": 2, "stages": 2, "tensor": 2}
FOUR = {"replicate": 2, **THREE}
HYBRID = {"replicate": 2, "fsdp": 2}
LANGUAGE = {"kind": "language", "plan": PLAN}
IMAGES = {"doing": "images"}


class Frozen(Parted):
    """The second layer, and a bias of the last one, do not train."""

    def model(self) -> nn.Module:
        model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4), nn.Tanh(), nn.Linear(4, 3)).double()
        model[2].requires_grad_(False)
        model[4].bias.requires_grad_(False)
        return model


FROZEN: dict[str, Any] = {"kind": "mlp", "plan": {"0": "colwise", "2": "rowwise"}}
WORKLOADS = {"frozen": f"{__name__}:Frozen"}


def parts_of(group: dict[str, int]) -> int:
    return group.get("replicate", 1) * group.get("fsdp", 1)


def pair(args: dict[str, Any], group: dict[str, int], accumulate: int = 2, **more: Any) -> tuple[JobSpec, JobSpec]:
    """Return a job of this group, and one of a single process that computes as many parts."""
    return job(args, group, accumulate=accumulate, **more), job(args, 1, accumulate=accumulate * parts_of(group), **more)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("group", "args"),
    [
        *((THREE, args) for args in (LANGUAGE, {"kind": "language"}, {"kind": "images"}, {"kind": "mlp"})),
        ({"fsdp": 2, "stages": 2, "tensor": 3}, {"kind": "mlp"}),
        ({"fsdp": 3, "stages": 3, "tensor": 2}, {"kind": "mlp"}),
        ({**HYBRID, "tensor": 2}, LANGUAGE),
        ({**HYBRID, "tensor": 2}, {"kind": "tied"}),
        ({**HYBRID, "stages": 2}, LANGUAGE),
        ({**HYBRID, "stages": 2}, {"kind": "images"}),
        (FOUR, LANGUAGE),
        (FOUR, {"kind": "images"}),
    ],
    ids=str,
)
def test_a_group_computes_what_one_process_computes(group: dict[str, int], args: dict[str, Any], grouped: GroupProblems) -> None:
    """Widths of 13, 7, 4 and 3 over three: one process has fewer columns, or none. The last mini-batch has fewer examples than the
    others, and than most of these groups have parts."""
    spec, alone = pair(args, group, accumulate=group.get("stages", 1), batch_size=12)
    split, whole = grouped(spec, 0), nets.problem(alone, 0)
    for position in range(3):
        one, other = split.gradient(position), whole.gradient(position)
        assert one.g.dtype == torch.float64
        torch.testing.assert_close(one.g, other.g, rtol=1e-12, atol=1e-12)
        assert one.loss == pytest.approx(other.loss, rel=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [THREE, {**HYBRID, "stages": 2}, FOUR], ids=str)
def test_frozen_parts_stay_and_the_rest_has_its_gradient(group: dict[str, int], grouped: GroupProblems) -> None:
    spec, alone = pair(FROZEN, group, workload={"entrypoint": WORKLOADS["frozen"], "args": FROZEN})
    split, whole = grouped(spec, 0), nets.problem(alone, 0)
    for position in range(2):
        torch.testing.assert_close(split.gradient(position).g, whole.gradient(position).g, rtol=1e-12, atol=1e-12)
    assert len(split.theta) == 5 * 7 + 7 + 4 * 3


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [THREE, {**HYBRID, "tensor": 2}], ids=str)
@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        (SYNC, {}),
        ({"name": "local_sgd", "lr": 0.01, "window": 2}, {"optimizer": {"name": "sgd", "momentum": 0.9, "clip_norm": 0.1}}),
        ({"name": "diloco", "lr": 0.1, "window": 2}, {"recompute": "blocks", "optimizer": {"name": "sgd", "momentum": 0.9}}),
        ({"name": "async", "lr": 0.01}, {"codec": {"name": "int8"}}),
    ],
    ids=str,
)
def test_every_strategy_works_between_groups(
    group: dict[str, int], strategy: dict[str, Any], more: dict[str, Any], grouped: GroupProblems
) -> None:
    spec, alone = pair(LANGUAGE, group, strategy=strategy, **more)
    split, whole = sim.run(spec, grouped), sim.run(alone, nets.problem)
    torch.testing.assert_close(split.center, whole.center, rtol=1e-12, atol=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [HYBRID, {"replicate": 2, "fsdp": 3}, {**HYBRID, "stages": 2}], ids=str)
@pytest.mark.parametrize("optimizer", [{"name": "sgd", "momentum": 0.9, "clip_norm": 0.01}, {"name": "adam"}], ids=str)
def test_replicates_that_share_out_memory_have_the_bits_of_replicates(
    group: dict[str, int], optimizer: dict[str, Any], grouped: GroupProblems
) -> None:
    """Each of these computes its parts in one process, and their gradients add up alike. A mini-batch of 4 has fewer parts."""
    stages, more = group.get("stages", 1), {"batch_size": 12, "optimizer": optimizer}
    shared = sim.run(chain(ADAG, 1, stages, IMAGES, roles=roles_of(group), **more), grouped)
    plain = sim.run(chain(ADAG, 1, stages * group["fsdp"], IMAGES, roles=roles_of({"replicate": 2}), **more), grouped)
    assert torch.equal(shared.center, plain.center)


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [THREE, {**HYBRID, "stages": 2}, {**HYBRID, "tensor": 2}], ids=str)
def test_statistics_are_the_mean_over_the_parts_at_a_time(group: dict[str, int], grouped: GroupProblems) -> None:
    args = {"kind": "images"}
    split = grouped(job(args, group, accumulate=2), 0)
    apart = grouped(job(args, {axis: count for axis, count in group.items() if axis in HYBRID}, accumulate=2), 0)
    for position in range(2):
        split.gradient(position)
        apart.gradient(position)
    found, expected = split.buffers(), apart.buffers()
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found.floats, expected.floats, rtol=1e-12, atol=1e-12)
    assert torch.equal(found.ints, expected.ints)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (THREE, 1),
        (1, THREE),
        (THREE, {"fsdp": 2, "stages": 3}),
        ({"stages": 2, "tensor": 2}, THREE),
        ({**HYBRID, "tensor": 2}, THREE),
        (HYBRID, {**HYBRID, "stages": 2}),
    ],
    ids=str,
)
def test_a_checkpoint_resumes_in_a_group_of_another_shape(before: Any, after: Any, grouped: GroupProblems) -> None:
    """With the optimizer's state of all peers, which an average at each push puts into the center."""

    def make(spec: JobSpec, rank: int) -> Any:
        return grouped(spec, rank) if spec.roles.worker.group.peers > 1 else nets.problem(spec, rank)

    def run(group: Any, **more: Any) -> sim.Result:
        strategy = {"name": "local_sgd", "lr": 0.01, "window": 2}
        parts = 1 if group == 1 else parts_of(group)
        optimizer = {"name": "sgd", "momentum": 0.9}
        return sim.run(job({"kind": "mlp"}, group, strategy, accumulate=8 // parts, optimizer=optimizer), make, **more)

    resumed = run(after, resume=run(before, checkpoints=[1]).checkpoints[1])
    whole = run(1, resume=run(1, checkpoints=[1]).checkpoints[1])
    torch.testing.assert_close(resumed.center, whole.center, rtol=1e-12, atol=1e-12)


def test_a_checkpoint_has_one_state_of_each_stage_of_each_part(grouped: GroupProblems) -> None:
    assert len(grouped(job({"kind": "images"}, FOUR, accumulate=2), 0).state()["peers"]) == 2 * 2 * 2 - 1


def test_the_optimizer_is_shared_out_among_all_processes(grouped: GroupProblems) -> None:
    spec = job({"kind": "images"}, THREE, accumulate=2, optimizer={"name": "adam"})
    problem = grouped(spec, 0)
    shared = problem.make_optimizer(spec.optimizer, 0.05)
    assert isinstance(shared, GroupOptimizer)
    assert sum(part.stop - part.start for part in shared._parts) == problem.theta.numel()
    assert len(shared._parts) == 8


def test_only_weights_of_two_stages_take_memory_beside_the_gradient(grouped: GroupProblems) -> None:
    problem = grouped(job(LANGUAGE, THREE, accumulate=2), 0)
    problem.gradient(0)
    [[first, last]] = problem._model.memory.beside
    tied = 17 * 12
    assert not first.any()
    assert last[:tied].any(), "the head's part of the tied weight"
    assert not last[tied:].any()


@pytest.mark.few(1)
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_narrow_numbers_are_near_to_those_of_pipelines(precision: str, grouped: GroupProblems) -> None:
    args = {**LANGUAGE, "double": False}
    groups = (THREE, {"fsdp": 2, "stages": 2})
    split, staged = (grouped(job(args, group, accumulate=2, precision=precision), 0) for group in groups)
    for position in range(3):
        one, other = split.gradient(position).g, staged.gradient(position).g
        assert bool(one.isfinite().all()) == bool(other.isfinite().all())
        assert not one.isfinite().all() or float((one - other).norm() / other.norm()) < 0.1
    assert (split.scale and split.scale.value) == (staged.scale and staged.scale.value)


def test_dropout_is_repeated(grouped: GroupProblems) -> None:
    """All processes along tensor go on alike after it, or they would find losses that differ."""

    def gradients() -> list[Tensor]:
        problem = grouped(job({**LANGUAGE, "dropout": 0.5}, THREE, accumulate=2), 0)
        return [problem.gradient(position).g.clone() for position in range(2)]

    assert all(map(torch.equal, gradients(), gradients()))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("group", "victim"), [*((THREE, victim) for victim in range(1, 8)), ({**HYBRID, "stages": 2}, 5), (FOUR, 11)], ids=str
)
def test_a_killed_process_ends_the_group(group: dict[str, int], victim: int, grouped: GroupProblems) -> None:
    problem = grouped(job(LANGUAGE, group, accumulate=2), 0)
    problem.gradient(0)
    kill_peer(f"worker-0/{victim}")
    with pytest.raises(PeerLost, match=r"^peer \d+ of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(1)


@pytest.mark.parametrize("parts", [1, 3, 4, 8, 11])
def test_each_place_has_a_number_and_each_part_is_computed_once(parts: int) -> None:
    given = [MicroBatch(number, 1 / parts) for number in range(parts)]
    for counts in product([1, 2, 3], repeat=4):
        mesh = PeerMesh(*counts)
        places = mesh.places()
        assert [mesh.number_of(place) for place in places] == list(range(len(places)))
        shares = shares_of(given, mesh)
        computed = [own for place, (own, _) in zip(places, shares, strict=True) if place.stage == place.tensor == 0]
        assert sorted((part for own in computed for part in own), key=lambda part: part.batch) == given
        assert computed[0], "the lead has some"
