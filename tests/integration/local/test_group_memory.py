"""The memory that the processes of a group have to themselves, measured by the kernel, with what a plan says."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from benchmarks import group_memory
from gradstream.advise.forecast import memory
from gradstream.api.plan import MeasuredSize

MEGABYTES, PEERS = 120, 4
MOMENTUM = {"name": "sgd", "momentum": 0.9}
"""It keeps one vector, and its step takes none for a moment."""
BESIDE = 20 / MEGABYTES
"""Pages that a process changes after the fork, which hold no vectors, in sizes of the model."""


@pytest.mark.more
@pytest.mark.parametrize(
    ("group", "whole"),
    [
        ({"replicate": 4}, 0),
        ({"fsdp": 4}, 0),
        ({"stages": 4}, 0),
        ({"fsdp": 2, "stages": 2}, 0),
        ({"tensor": 4}, 0),
        ({"tensor": 4}, 8),
        pytest.param({"stages": 2, "tensor": 2}, 0, marks=pytest.mark.long),
        ({"fsdp": 2, "stages": 2, "tensor": 2}, 0),
    ],
    ids=str,
)
def test_processes_of_a_group_have_to_themselves_what_a_plan_says(group: dict[str, int], whole: int) -> None:
    """Within a fourth. The memory of a lead grows for some mini-batches: each frees gradients in another order. The benchmark
    runs no rounds and pulls no center, so the lead has so many vectors less than in a job. With fsdp and tensor it sends nothing
    either: there the gradient is shared, and a lead has less than a plan says."""
    given = argparse.Namespace(megabytes=MEGABYTES, rounds=8, peers=PEERS, whole=whole, optimizer=json.dumps(MOMENTUM))
    found = group_memory.measured(given, group)
    width = group_memory.width_of(MEGABYTES)
    parameters = group_memory.BLOCKS * width**2
    sizes: dict[str, Any] = {"largest_parameter": width**2, "whole_parameters": whole * width**2}
    spec = group_memory.job(width, group, PEERS, whole, MOMENTUM)
    said = memory(spec, MeasuredSize(parameters=parameters, **sizes))
    assert said.lead is not None
    assert said.peer is not None
    vector = 4 * parameters
    compared = {"peer": said.peer / vector}
    if "fsdp" not in group and "tensor" not in group:
        compared["lead"] = said.lead / vector - 1 - spec.strategy.round_vectors
    assert found["lead"] < 1.25 * said.lead / vector + BESIDE
    for name, planned in compared.items():
        assert 0.75 * planned < found[name] < 1.25 * planned + BESIDE, (name, planned, found)
