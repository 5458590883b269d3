"""Groups whose processes copy theta to a device. Here that is the CPU, so each parameter, activation and gradient goes the way that
it goes to a GPU and back, and must come out with the bits of the memory that processes share. `tests/gpu` has the GPU itself."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream import sim
from gradstream.errors import InvalidWorkload
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.computing.device_copy import DeviceCopy
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests.nets import CPU
from tests.unit.group.chains import ADAG, SYNC
from tests.unit.group.chains import job as chain
from tests.unit.group.chains import roles as roles_of
from tests.unit.group.conftest import GroupProblems
from tests.unit.group.test_group_laws import job as replicated
from tests.unit.group.test_products import FOUR, HYBRID, LANGUAGE, THREE
from tests.unit.group.test_tensor import job as split

MOMENTUM = {"name": "sgd", "momentum": 0.9, "clip_norm": 0.1}
JOBS: dict[str, JobSpec] = {
    "replicate": replicated(2, SYNC),
    "replicate, a window": replicated(3, ADAG, "normed", optimizer=MOMENTUM),
    "replicate, several dtypes": replicated(2, SYNC, "mixed"),
    "replicate, sparse gradients": replicated(2, SYNC, "words"),
    "replicate, members": replicated(2, SYNC, members=2),
    "replicate, compiled": replicated(2, SYNC, "within"),
    "fsdp, several dtypes": replicated({"fsdp": 2}, SYNC, "mixed"),
    "fsdp": chain(ADAG, 1, 1, {"doing": "images"}, roles=roles_of({"fsdp": 3}), optimizer={"name": "adam"}),
    "fsdp, blocks": chain(SYNC, 1, 2, roles=roles_of({"fsdp": 2}), precision="bf16"),
    "fsdp, recompute": chain(ADAG, 1, 1, roles=roles_of({"fsdp": 3}), recompute="blocks"),
    "fsdp, members": chain(SYNC, 1, 1, {"doing": "skips"}, roles=roles_of({"fsdp": 2}), members=2),
    "stages": chain(SYNC, 2, 4),
    "stages, batch norm": chain(ADAG, 2, 3, {"doing": "images"}),
    "stages, recompute": chain(SYNC, 3, 4, recompute="blocks"),
    "stages, fsdp": chain(ADAG, 1, 2, roles=roles_of({"stages": 2, "fsdp": 2}), optimizer=MOMENTUM),
    "stages, replicate": chain(SYNC, 1, 2, {"doing": "images"}, roles=roles_of({"stages": 2, "replicate": 2})),
    "tensor": split({**LANGUAGE, "dropout": 0.5}, {"tensor": 2}),
    "tensor, no plan": split({"kind": "images"}, {"tensor": 3}),
    "tensor, tied": split({"kind": "tied"}, {"tensor": 2, "replicate": 2}),
    "tensor, bf16": split({**LANGUAGE, "double": False}, {"tensor": 2}, precision="bf16"),
    "hybrid": replicated(HYBRID, SYNC),
    "three axes": split(LANGUAGE, THREE, ADAG, accumulate=2),
    "three axes, fp16": split({**LANGUAGE, "double": False}, THREE, accumulate=2, precision="fp16"),
    "four axes": split({"kind": "images"}, FOUR, accumulate=2, batch_size=12),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("name", JOBS)
def test_the_bits_of_memory_that_processes_share(name: str, grouped: GroupProblems, copied: GroupProblems) -> None:
    expected, found = (trained(JOBS[name], make) for make in (grouped, copied))
    assert torch.equal(found.center, expected.center)
    assert found.losses == expected.losses


def trained(spec: JobSpec, make: GroupProblems, **more: Any) -> sim.Result:
    """The lead draws on from here, as a job's process does from its seed."""
    torch.manual_seed(5)
    return sim.run(spec, make, **more)


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [{"replicate": 2}, {"replicate": 2, "stages": 2}], ids=str)
def test_machines_whose_processes_copy_theta_have_the_same_bits(
    group: dict[str, int], spread: GroupProblems, spread_copied: GroupProblems
) -> None:
    spec = chain(ADAG, 1, group.get("stages", 1), {"doing": "images"}, roles=roles_of({**group, "machines": 2}))
    assert torch.equal(trained(spec, spread_copied).center, trained(spec, spread).center)


def test_gradients_that_come_late_are_added(grouped: GroupProblems, copied: GroupProblems) -> None:
    """Their order goes by time, so they differ by rounding."""
    spec = chain(SYNC, 1, 1, {"doing": "within"}, roles=roles_of({"fsdp": 2}))
    torch.testing.assert_close(trained(spec, copied).center, trained(spec, grouped).center, rtol=1e-5, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [{"stages": 2, "tensor": 2}, HYBRID, 2], ids=str)
def test_a_checkpoint_fits_groups_of_either_kind(group: Any, grouped: GroupProblems, copied: GroupProblems) -> None:
    """With buffers, random numbers and the state of the optimizer."""
    strategy = {"name": "local_sgd", "lr": 0.01, "window": 2}
    spec = split({"kind": "images"}, group, strategy, accumulate=2, optimizer=MOMENTUM)
    first = trained(spec, copied, checkpoints=[1])
    for make in (grouped, copied):
        assert torch.equal(trained(spec, make, resume=first.checkpoints[1]).center, first.center)


@pytest.mark.parametrize("group", [{"stages": 2}, {"replicate": 2, "stages": 2}], ids=str)
def test_a_stage_has_memory_for_its_own_blocks_alone(group: dict[str, int], copied: GroupProblems) -> None:
    problem = copied(chain(SYNC, 2, 4, roles=roles_of(group)), 0)
    problem.gradient(0)
    model = problem._flat.model
    for p in [*model.layers[:2].parameters(), *model.words.parameters()]:
        assert p.untyped_storage().nbytes() >= p.nbytes
        assert p.data_ptr() != problem.theta.data_ptr()
    for p in model.layers[2:].parameters():
        assert p.untyped_storage().nbytes() == p.element_size()


@pytest.mark.parametrize(
    ("group", "frees"), [({"fsdp": 2}, True), ({"fsdp": 2, "tensor": 2}, False), ({"replicate": 2}, False)], ids=str
)
def test_fsdp_frees_the_parameters_of_blocks_that_do_not_compute(group: dict[str, int], frees: bool, copied: GroupProblems) -> None:
    problem = copied(chain(SYNC, 1, 2, roles=roles_of(group)), 0)
    problem.gradient(0)
    model = problem._flat.model
    assert all(p.untyped_storage().nbytes() >= p.nbytes for p in [*model.words.parameters(), *model.norm.parameters()])
    assert all((p.untyped_storage().nbytes() == p.element_size()) is frees for p in model.layers.parameters())


def test_a_model_that_torch_compiles_keeps_its_parameters() -> None:
    for more, rows in ({}, [4]), ({"compile": True}, []), ({"args": {"doing": "objects"}}, [2]):
        spec = chain(SYNC, 1, 1, more.pop("args", {}), roles=roles_of({"fsdp": 2}), **more)
        code = UserCode(spec)
        assert [len(row) for row in code.separate_blocks(UserCode(chain(SYNC, 1, 1, spec.workload.args)).model())] == rows


def test_a_model_without_blocks_of_its_own_keeps_its_parameters_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    code = UserCode(chain(SYNC, 1, 1, roles=roles_of({"fsdp": 2})))
    assert code.separate_blocks(torch.nn.Linear(2, 2)) == []
    assert "with fsdp, each GPU has all parameters, as the model has no blocks: " in caplog.text


@pytest.mark.parametrize("group", [{"stages": 2}, {"fsdp": 2}, {"stages": 2, "fsdp": 2}], ids=str)
def test_a_hook_reads_the_parameters_of_all_blocks(group: dict[str, int], copied: GroupProblems) -> None:
    problem = copied(chain(SYNC, 1, 4, roles=roles_of(group)), 0)
    problem.theta.normal_()
    with problem._flat.shown():
        found = torch.cat([p.detach().reshape(-1) for p in problem._flat.trained])
    assert torch.equal(found, problem.theta)


def test_a_loss_over_the_blocks_of_other_stages_is_refused(copied: GroupProblems) -> None:
    problem = copied(chain(SYNC, 2, 4, {"doing": "penalty"}), 0)
    with pytest.raises(UserError) as raised:
        problem.gradient(0)
    assert "the stages compute a loss of" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("doing", "reason"), [("penalty", "outside of its block"), ("objects", "a block gives a Given")], ids=["penalty", "objects"]
)
def test_a_loss_that_needs_more_than_the_block_that_computes_is_refused(doing: str, reason: str, copied: GroupProblems) -> None:
    problem = copied(chain(SYNC, 1, 1, {"doing": doing}, roles=roles_of({"fsdp": 2})), 0)
    with pytest.raises(UserError) as raised:
        problem.gradient(0)
    assert reason in str(raised.value.__cause__)


def on_devices(spec: JobSpec, *devices: str) -> closing[GroupProblem]:
    """Return a group whose processes have not begun."""
    code = UserCode(spec)
    flat, batches = FlatModel(code.model(), CPU, make_theta=shared_vector), Batches(code.dataset("train"), spec, 0)
    return closing(GroupProblem(code, flat, batches, spec, devices=list(map(torch.device, devices))))


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_peer_without_its_gpu_says_so() -> None:
    spec = replicated(2, SYNC)
    with on_devices(spec, "cpu", "cuda:0") as problem:
        problem.start_peers(spec, "worker-0", 0)
        with pytest.raises(UserError) as raised:
            problem.gradient(0)
    assert "CUDA" in str(raised.value.__cause__)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_lead_without_its_gpu_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    """The process is closed without a step, as the first one of another machine is."""
    spec = replicated(2, SYNC)
    with pytest.raises(UserError) as raised, on_devices(spec, "cuda:0", "cpu") as problem:
        problem.start_peers(spec, "worker-0", 0, tmp_path)
    assert "CUDA" in str(raised.value.__cause__)
    assert not list(tmp_path.iterdir())
    assert not any(peer.is_alive() for peer in problem._others._processes)


@pytest.mark.parametrize(("device", "takes"), [("cuda", "cuda"), ("cpu", "cpu"), ("auto", "auto")])
def test_a_group_takes_the_device_that_its_job_names(device: str, takes: str) -> None:
    spec = split({"kind": "mlp"}, 1, roles={"worker": {"group": {"tensor": 2}, "device": device}})
    assert spec.roles.worker.effective_device == takes


# ---- the copy itself --------------------------------------------------------------------------------------------------------


def made() -> tuple[nn.Module, Tensor, DeviceCopy]:
    """A trained layer, and two that others compute, of which one is frozen. The last one has another dtype."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 3), nn.Linear(3, 3).bfloat16())
    theta = FlatModel(model, CPU).theta
    return model, theta, DeviceCopy(model, theta, CPU, [*model[1].parameters(), *model[2].parameters()])


def test_it_follows_theta_and_theta_does_not_follow_it() -> None:
    model, theta, copy = made()
    theta.copy_(torch.arange(len(theta)) / 8)
    copy.refresh()
    assert torch.equal(model[0].weight.view(-1), theta[:9])
    assert torch.equal(model[3].weight.view(-1), theta[24:33].bfloat16())
    model[0].weight.data.zero_()
    assert torch.equal(theta, torch.arange(len(theta)) / 8)


def test_hollow_parameters_have_values_while_they_are_shown_or_filled() -> None:
    model, theta, copy = made()
    frozen = nn.Linear(3, 3).requires_grad_(False).weight
    for p in [*model[1].parameters(), *model[2].parameters()]:
        assert p.untyped_storage().nbytes() == p.element_size()
    with copy.shown():
        assert model[1].weight.shape == frozen.shape
        assert model[1].weight.abs().sum() > 0
        assert torch.equal(model[2].weight.view(-1), theta[12:21])
    with copy.filled(model[2]), copy.filled(model[1]):
        assert torch.equal(model[2].bias, theta[21:24])
        assert model[1].weight.abs().sum() > 0
    assert not any(p.any() for p in [*model[1].parameters(), *model[2].parameters()])


def test_a_gradient_that_reaches_a_hollow_parameter_is_refused() -> None:
    model, _, _ = made()
    with pytest.raises(InvalidWorkload, match="each stage has the parameters of its own blocks alone"):
        model[2](torch.ones(3)).sum().backward()
