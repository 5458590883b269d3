"""Groups on a GPU compute what one process computes there in parts. `tests/unit/group/test_devices.py` copies as much on the CPU.

CUDA survives no fork, and this process has asked for it. So a process that has not begins each group."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from gradstream.spec import JobSpec
from tests import nets
from tests.unit.group.chains import SYNC, roles
from tests.unit.group.chains import job as chain
from tests.unit.group.conftest import make_group
from tests.unit.group.test_products import FOUR, HYBRID, LANGUAGE, THREE, parts_of
from tests.unit.group.test_tensor import job as split

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: groups on it are not tested"),
]

LONG = 600
"""Seconds."""


class Found(NamedTuple):
    group: list[Tensor]
    alone: list[Tensor]
    """The same gradients, computed in parts by one process on the device."""
    states: int
    """Random numbers of GPUs in the state of the group."""


def compute(spec: JobSpec, alone: JobSpec, steps: int, answer: Connection) -> None:
    torch.backends.cudnn.deterministic = True  # else cuDNN may add up in another order each time
    device = torch.device("cuda:0")
    with closing(make_group(spec, 0, device=device)) as group:
        found = [group.gradient(position).g.clone() for position in range(steps)]
        state = group.state()
    problem = nets.problem(alone, 0, device)
    expected = [problem.gradient(position).g.to("cpu", copy=True) for position in range(steps)]
    states = sum("cuda_rng" in each for each in [state, *state["peers"]])
    answer.send(([g.numpy() for g in found], [g.numpy() for g in expected], states))


def computed(spec: JobSpec, alone: JobSpec, steps: int = 3) -> Found:
    found, expected, states = called(compute, spec, alone, steps)
    return Found([torch.from_numpy(g) for g in found], [torch.from_numpy(g) for g in expected], states)


def called(function: Callable[..., None], *args: Any) -> Any:
    """Return what this function sends when a process of its own calls it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=function, args=(*args, there))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # it imports this file, which looks for a GPU
        process.start()
    there.close()
    try:
        assert here.poll(LONG), "the group does not answer"
        return here.recv()
    finally:
        process.join(LONG)


EXACT: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "replicate": ({"replicate": 2}, {"doing": "rectified"}),
    "fsdp": ({"fsdp": 2}, {"doing": "rectified"}),
    "fsdp 3": ({"fsdp": 3}, {}),
    "fsdp, many blocks": ({"fsdp": 2}, {"doing": "wide"}),
    "fsdp, batch norm": ({"fsdp": 2}, {"doing": "images"}),
    "stages": ({"stages": 3}, {"doing": "rectified"}),
    "stages, batch norm": ({"stages": 2}, {"doing": "images"}),
    "stages, fsdp": ({"stages": 2, "fsdp": 2}, {"doing": "images"}),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_group_has_the_bits_of_parts_on_the_device(name: str) -> None:
    group, args = EXACT[name]
    parts = group.get("stages", 1)
    spec = chain(SYNC, 1, parts, args, roles=roles(group), batch_size=12)
    alone = chain(SYNC, 1, parts * parts_of(group), args, roles=roles(1), batch_size=12)
    found = computed(spec, alone)
    for one, other in zip(found.group, found.alone, strict=True):
        assert torch.equal(one, other), float((one - other).norm() / other.norm())


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="NCCL takes one process on each GPU, and there are fewer than two")
@pytest.mark.parametrize("accumulate", [1, 2])
def test_two_replicates_add_up_on_their_gpus_with_the_bits_of_parts(accumulate: int) -> None:
    more = {"worker": {**roles({"replicate": 2, "collective": "nccl"})["worker"], "device": "cuda"}}
    spec = chain(SYNC, 1, accumulate, {"doing": "rectified"}, roles=more, batch_size=12)
    found = computed(spec, chain(SYNC, 1, 2 * accumulate, {"doing": "rectified"}, roles=roles(1), batch_size=12))
    for one, other in zip(found.group, found.alone, strict=True):
        if accumulate == 1:
            assert torch.equal(one, other)
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def look_at_memory(spec: JobSpec, answer: Connection) -> None:
    with closing(make_group(spec, 0, device=torch.device("cuda:0"))) as group:
        for position in range(2):
            group.gradient(position)
        peaks = [group.gpu_memory, *(use.gpu_memory for use in group.take_peer_uses())]
        answer.send((group.theta.nbytes, peaks))


@pytest.mark.parametrize(("accumulate", "recompute"), [(1, "none"), (2, "none"), (1, "blocks")])
def test_with_fsdp_a_gpu_has_two_blocks_at_a_time(accumulate: int, recompute: str) -> None:
    """Two of ten blocks, and gradients of a few buckets. A replicate has the model and two vectors for its gradients, so it takes
    2.6 models more. If a whole copy of the model were there, it would be 1.8. Both have workspaces of libraries beside that."""
    by_blocks, whole = (
        chain(SYNC, 1, accumulate, {"doing": "wide"}, roles=roles(group), recompute=recompute)
        for group in ({"fsdp": 2}, {"replicate": 2})
    )
    (model, peaks), (_, peaks_of_whole) = (called(look_at_memory, spec) for spec in (by_blocks, whole))
    assert len(peaks) == 2
    assert min(peaks_of_whole) - max(peaks) > 2.2 * model


NEAR: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "tensor": ({"tensor": 2}, LANGUAGE),
    "tensor without a plan": ({"tensor": 3}, {"kind": "images"}),
    "tied": ({"tensor": 2}, {"kind": "tied"}),
    "replicate 3": ({"replicate": 3}, {"kind": "mlp"}),
    "hybrid": ({**HYBRID, "tensor": 2}, LANGUAGE),
    "three axes": (THREE, LANGUAGE),
    "four axes": (FOUR, {"kind": "images"}),
}


@pytest.mark.parametrize("name", NEAR)
def test_a_group_computes_what_one_process_computes_on_the_device(name: str) -> None:
    """In float64, so that nothing but rounding may differ."""
    group, args = NEAR[name]
    stages = group.get("stages", 1)
    spec = split(args, group, accumulate=stages, batch_size=12)
    found = computed(spec, split(args, 1, accumulate=stages * parts_of(group), batch_size=12))
    for one, other in zip(found.group, found.alone, strict=True):
        assert one.dtype == torch.float64
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)
    places = [count for axis, count in group.items() if axis != "tensor"]
    assert found.states == torch.tensor(places or [1]).prod()


def test_narrow_numbers_are_near_to_those_of_parts() -> None:
    spec = chain(SYNC, 1, 2, roles=roles({"stages": 2, "fsdp": 2}), precision="bf16")
    found = computed(spec, chain(SYNC, 1, 4, roles=roles(1), precision="bf16"), steps=1)
    assert torch.nn.functional.cosine_similarity(found.group[0], found.alone[0], dim=0) > 0.99


def test_dropout_goes_on_alike_along_tensor() -> None:
    """Else the processes would find losses that differ."""
    spec = split({**LANGUAGE, "dropout": 0.5}, THREE, accumulate=2)
    found = computed(spec, split(LANGUAGE, 1, accumulate=4))
    assert all(g.isfinite().all() for g in found.group)
