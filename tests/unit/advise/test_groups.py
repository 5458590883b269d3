"""The cost of groups, against numbers reckoned by hand; and the shape that is advised where machine and model make it plain."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.advise.advice import advise, for_group
from gradstream.advise.group import cost
from gradstream.advise.group.cost import GroupFacts
from gradstream.advise.group.measure import measure_group
from gradstream.advise.group.shapes import GroupAdvice, WorkerCapacity, advise_group
from gradstream.advise.measure import Measurement
from gradstream.advise.outlook import Machines, outlook
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.sim.times.speeds import parse
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.spec.roles import WorkerGroup
from gradstream.workload import Split
from tests.nets import CPU

FACTS = GroupFacts(
    add=0.01,
    blocks=(100, 100, 100, 100),
    own_blocks=(100, 100, 100, 100),
    boundary=1_000_000,
    activations=8_000_000,
    split=0.8,
    exchanges=10,
    exchanged=5_000_000,
    whole=40,
    bucket=0.125,
    fixed=0.0,
    parts=1,
)
PARAMETERS = 400
PLENTY = WorkerCapacity(cores=8, memory=1e12)


@pytest.mark.parametrize(
    ("group", "accumulate", "expected"),
    [
        ({}, 1, 1.0),
        ({"replicate": 4}, 1, 0.25 + 3 * 0.01 + 3e-4),
        ({"fsdp": 4}, 1, 0.25 + 0.01 * (1 + 3 * 0.125) + 3e-4),
        ({"stages": 4}, 4, 0.25 * 7 / 4 + 2e-3 + 0.01 / 4 + 3e-4),
        ({"stages": 4}, 16, 0.25 * 19 / 16 + 2e-3 + 0.01 / 4 + 3e-4),
        ({"stages": 3}, 8, 0.5 * 10 / 8 + 2e-3 + 0.01 / 3 + 2e-4),  # one stage has two of the four blocks
        ({"replicate": 2, "fsdp": 2}, 1, 0.25 + 0.01 * (1 + 0.125 + 1) + 3e-4),
        ({"replicate": 2, "stages": 2}, 4, 0.25 * 5 / 4 + 1e-3 + 0.01 * 3 / 2 + 3e-4),
        ({"fsdp": 2, "stages": 2}, 4, 0.25 * 5 / 4 + 1e-3 + 0.01 * (1 / 2 + 0.125) + 3e-4),
        ({"stages": 2, "tensor": 2}, 4, 0.5 * 0.6 * 5 / 4 + (40 * 30e-6 + 5e-3) * 5 / 8 + 2e-3 + 0.01 / 2 + 3e-4),
        (
            {"fsdp": 2, "stages": 2, "tensor": 2},
            4,
            0.25 * 0.6 * 5 / 4 + (40 * 30e-6 + 2.5e-3) * 5 / 8 + 1e-3 + 0.01 * (1 / 2 + 1 / 2) + 7e-4,
        ),
        ({"tensor": 4}, 1, 0.8 / 4 + 0.2 + 10 * 30e-6 + 15e-3 + 0.01 + 3e-4),
        ({"fsdp": 2, "tensor": 2}, 1, 0.5 * (0.8 / 2 + 0.2) + 10 * 30e-6 + 2.5e-3 + 0.02 + 3e-4),
        ({"replicate": 2, "tensor": 2}, 1, 0.5 * (0.8 / 2 + 0.2) + 10 * 30e-6 + 2.5e-3 + 0.02 + 3e-4),
        ({"replicate": 4, "machines": 2}, 1, 0.25 + 0.01 + 2e-4),  # each machine adds its own, and asks its own
        ({"replicate": 4, "machines": 4}, 1, 0.25 + 3e-4),
    ],
    ids=str,
)
def test_the_time_of_a_mini_batch_in_a_group(group: dict[str, int], accumulate: int, expected: float) -> None:
    assert cost.seconds(WorkerGroup(**group), accumulate, 1.0, FACTS) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("group", "vector", "expected"),
    [
        ({"replicate": 4}, 10**9, 0.0),
        ({"replicate": 4, "machines": 2}, 5 * 10**6, 0.05 + 0.05 + 2e-3),
        ({"replicate": 4, "machines": 4}, 5 * 10**6, 3 * 0.05 + 3 * 0.05 + 2e-3),
        ({"replicate": 4, "machines": 4}, 10**5, 3 * 1e-3 + 3 * 0.01 + 2e-3),  # gradients come faster than they can be added
    ],
    ids=str,
)
def test_the_time_of_vectors_between_machines(group: dict[str, int], vector: int, expected: float) -> None:
    found = cost.seconds_between_machines(WorkerGroup(**group), vector, FACTS, bandwidth=1e8, latency=1e-3)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("group", "accumulate", "expected"),
    [
        ({}, 4, 0.6 + 4 * 0.1),  # it was measured in four parts
        ({}, 8, 0.6 + 8 * 0.1),
        ({"replicate": 4}, 1, 0.6 / 4 + 0.1 + 3 * 0.01 + 3e-4),
        ({"stages": 2}, 8, (0.6 + 0.8) / 2 * 9 / 8 + 2e-3 + 0.01 / 2 + 1e-4),
    ],
    ids=str,
)
def test_more_micro_batches_take_longer(group: dict[str, int], accumulate: int, expected: float) -> None:
    facts = replace(FACTS, fixed=0.1, parts=4)
    assert cost.seconds(WorkerGroup(**group), accumulate, 1.0, facts) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("group", "accumulate", "expected"),
    [
        ({}, 1, 8e6),
        ({"replicate": 4}, 1, 2e6),
        ({"fsdp": 2}, 2, 2e6),
        ({"stages": 4}, 8, 8e6 / 8 / 4 * 4),
        ({"fsdp": 2, "stages": 2}, 4, 8e6 / 8 / 2 * 2),
        ({"stages": 2, "tensor": 2}, 4, 8e6 * 0.6 / 4 / 2 * 2),
        ({"tensor": 4}, 1, 8e6 * 0.4),
    ],
    ids=str,
)
def test_the_activations_of_a_process(group: dict[str, int], accumulate: int, expected: float) -> None:
    assert cost.activations(WorkerGroup(**group), accumulate, FACTS) == pytest.approx(expected)


def advised(capacity: WorkerCapacity = PLENTY, facts: GroupFacts = FACTS, step: float = 1.0, **more: Any) -> GroupAdvice:
    return advise_group(job({"name": "sync"}, workers=2, **{"batch_size": 64, **more}), step, facts, capacity, PARAMETERS, 100)


def test_a_long_mini_batch_takes_all_cores_and_more_cores_must_pay() -> None:
    found = advised()
    assert found.choice.group == WorkerGroup(fsdp=8), "its gradients are added while backward runs"
    assert found.choice.gain == pytest.approx(1 / found.choice.seconds)
    assert found.reasons[-1].startswith("fsdp 8: a mini-batch takes 144 ms, 6.92 times as fast")
    assert found.shapes[0].described == "one process"
    assert {"stages 4, accumulate 16", "replicate 8", "fsdp 8"} <= {shape.described for shape in found.shapes}


def test_a_short_mini_batch_takes_one_process() -> None:
    found = advised(step=1e-3)
    assert found.choice.group == WorkerGroup()
    assert found.reasons == ["One process: no group is faster by a fifth."]


def test_more_processes_must_pay() -> None:
    """With gradients that take as long to add as a mini-batch in eight parts, four are nearly as fast."""
    found = advised(facts=replace(FACTS, add=0.05, split=0.0, bucket=0.5, blocks=()))
    assert found.choice.group == WorkerGroup(fsdp=4)
    assert found.reasons[0] == "Not fsdp 8: it is 1.07 times as fast as fsdp 4, which is not worth 4 more processes."


def test_few_examples_leave_tensor() -> None:
    found = advised(batch_size=1)
    assert found.choice.group.tensor > 1
    assert found.choice.group.peers == found.choice.group.tensor


def test_activations_that_do_not_fit_are_shared_out() -> None:
    """One process has 8 GB of them, and 6 would fit; in a group all processes together have no more than one has."""
    facts = replace(FACTS, activations=8_000_000_000, split=0.0)
    found = advised(WorkerCapacity(8, 4e9), facts)
    assert found.choice.fits
    assert found.choice.group.stages > 1, "with replicate all processes together have as much as one has"
    assert any(reason.startswith("Not one process: it takes 8 GB of 4 GB") for reason in found.reasons)
    nothing = advised(WorkerCapacity(8, 1e6), facts)
    assert nothing.reasons[0].startswith("No shape fits: ")


def test_a_stage_has_the_gradients_of_all_that_stands_outside_of_blocks() -> None:
    apart, inside = (
        {each.described: each.lead for each in advised(facts=replace(FACTS, blocks=blocks, own_blocks=blocks)).shapes}
        for blocks in ((10,) * 4, (100,) * 4)
    )
    vector = 4 * PARAMETERS
    assert apart["one process"] == inside["one process"]
    assert apart["stages 4, accumulate 16"] - inside["stages 4, accumulate 16"] == pytest.approx(3 * 0.675 * vector), "with holes"


def test_without_a_second_core_or_where_the_job_refuses_it_there_is_one_process() -> None:
    assert advised(WorkerCapacity(1, 1e12)).reasons == [
        "One process: a second one would need 2 cores for a worker, and there are 1."
    ]
    none = advised(batch_size=1, facts=replace(FACTS, split=0.0))
    assert none.choice.group == WorkerGroup()


def test_the_simulator_takes_a_group_as_a_worker_of_its_speed() -> None:
    """Alone, it computes all the time."""
    machines = Machines(step=1.0, bandwidth=1e15, latency=0.0, speeds=parse("constant"))
    measured = Measurement(PARAMETERS, {"raw": 1600}, 1600, 100, 1.0, 1.0, None, 1600, group=FACTS)
    spec = job({"name": "single"}, workers=1, roles={"worker": {"count": 1, "group": {"stages": 4}}}, batch_size=64, accumulate=16)
    found = outlook(spec, for_group(spec, measured, machines), 1600, 100, None)
    assert found.samples_per_second == pytest.approx(64 / cost.seconds(WorkerGroup(stages=4), 16, 1.0, FACTS), rel=1e-3)


def test_a_group_on_several_machines_is_as_fast_as_its_link() -> None:
    """A mini-batch takes theta to the other machine, and a gradient back. The advice says how long."""
    measured = Measurement(PARAMETERS, {"raw": 1600}, 1600, 100, 1.0, 1.0, None, 1600, group=FACTS)
    group = {"replicate": 2, "machines": 2}
    spec = job({"name": "single"}, workers=1, roles={"worker": {"count": 1, "group": group}}, batch_size=64)
    fast, slow = (Machines(step=1.0, bandwidth=width, latency=0.0, speeds=parse("constant")) for width in (1e15, 1600.0))
    computed = cost.seconds(WorkerGroup(**group), 1, 1.0, FACTS)
    steps = [64 / outlook(spec, for_group(spec, measured, each), 1, 100, None).samples_per_second for each in (fast, slow)]
    assert steps == pytest.approx([computed + FACTS.add, computed + 2.0], rel=1e-3)
    [told] = [reason for reason in advise(spec, measured, slow).reasons if "machines: 2" in reason]
    assert told.startswith("With machines: 2, each mini-batch sends 0.0016 MB to each other machine of a worker and gets")
    assert "That takes 2 of its 2.5 s" in told


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(6)))
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.head(self.norm(self.body(x)))
        return y


PAUSE = 0.1


class Deep(Workload):
    def model(self) -> nn.Module:
        return Net()

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.ones(32, 64))

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        return model(batch[0]).square().mean()


class Waiting(Deep):
    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        time.sleep(PAUSE)
        return super().loss(model, batch)


def test_what_is_measured_of_a_model() -> None:
    spec = JobSpec.model_validate(
        {
            "name": "deep",
            "workload": {"entrypoint": "tests.unit.advise.test_groups:Deep"},
            "strategy": {"name": "sync", "lr": 0.1},
            "stop": {"steps": 1},
        }
    )
    code = UserCode(spec)
    flat = FlatModel(code.model(), CPU)
    facts = measure_group(spec, code, flat, (torch.ones(32, 64),), 32)
    assert facts.blocks == (64 * 65,) * 6
    assert facts.own_blocks == facts.blocks
    assert facts.boundary == 32 * 64 * 4
    assert facts.whole == 2 * 64, "the norm"
    assert facts.exchanges == 7 * 2, "each layer is gathered, forward and backward"
    assert facts.exchanged == 7 * 32 * 64 * 4 + 6 * 32 * 64 * 4 + 32 * 4 * 4, "inputs and outputs"
    assert 0 < facts.split < 1
    layers = 7 * 32 * 64 * 4
    assert layers <= facts.activations <= 2 * layers + 4096
    assert facts.bucket == 1.0, "the model is smaller than a bucket"
    assert facts.add > 0
    assert facts.parts == 1


def test_activations_are_those_of_the_examples_alone_in_16_bits_too() -> None:
    """Autocast also keeps narrow copies of the weights for backward, which are larger here."""
    found = dict[str, int]()
    for precision in ("fp32", "bf16"):
        spec = JobSpec.model_validate(
            {
                "name": "deep",
                "workload": {"entrypoint": "tests.unit.advise.test_groups:Deep"},
                "strategy": {"name": "sync", "lr": 0.1},
                "precision": precision,
                "stop": {"steps": 1},
            }
        )
        code = UserCode(spec)
        found[precision] = measure_group(spec, code, FlatModel(code.model(), CPU), (torch.ones(2, 64),), 2).activations
    assert found["bf16"] == found["fp32"] // 2


class Shared(Deep):
    """Four blocks with one weight, of which the second is called twice; the first one's bias is frozen."""

    def model(self) -> nn.Module:
        first, second, third = (nn.Linear(64, 64) for _ in range(3))
        second.weight = third.weight = first.weight
        first.bias.requires_grad_(False)
        return nn.Sequential(first, second, third, second)

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        return torch.as_tensor(model(batch[0]).square().mean())


@pytest.mark.parametrize("members", [1, 2])
def test_blocks_have_what_stands_in_no_other_one_to_themselves(members: int) -> None:
    spec = JobSpec.model_validate(
        {
            "name": "shared",
            "workload": {"entrypoint": "tests.unit.advise.test_groups:Shared"},
            "strategy": {"name": "sync", "lr": 0.1},
            "members": members,
            "stop": {"steps": 1},
        }
    )
    code = UserCode(spec)
    facts = measure_group(spec, code, FlatModel(code.model(), CPU), (torch.ones(32, 64),), 32)
    assert facts.blocks == (64 * 65,) * 4
    assert facts.own_blocks == (0, 64, 64, 0) * members


def test_a_micro_batch_takes_a_time_of_its_own() -> None:
    """The workload waits for so long in each call of its loss, and for nothing in an example."""
    spec = JobSpec.model_validate(
        {
            "name": "waits",
            "workload": {"entrypoint": "tests.unit.advise.test_groups:Waiting"},
            "accumulate": 2,
            "batch_size": 32,
            "strategy": {"name": "sync", "lr": 0.1},
            "stop": {"steps": 1},
        }
    )
    code = UserCode(spec)
    facts = measure_group(spec, code, FlatModel(code.model(), CPU), (torch.ones(32, 64),), 32)
    assert facts.parts == 2
    assert 0.9 * PAUSE < facts.fixed < 1.5 * PAUSE
