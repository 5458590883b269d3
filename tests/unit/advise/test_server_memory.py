"""The forecast of a server's memory against the vectors that a real shard holds while it makes a checkpoint."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch

from gradstream.advise.forecast import memory
from gradstream.api.plan import Size
from gradstream.center.entries import Init, Join, Payload, Push
from gradstream.center.parameters.drift import EVERY
from gradstream.center.shard import Shard
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.spec.cadence import HOLD_AT

LENGTH = 1031


def vectors_held(spec: JobSpec, kept: int) -> int:
    """Count the vectors of a shard that holds the state of a checkpoint, with this many centers kept for evaluations."""
    gc.collect()
    before = {id(one) for one in long_vectors()}
    x, shard, ranks = torch.full((LENGTH,), 0.01), Shard(spec), range(spec.roles.worker.count)
    outputs = [shard.handle(Init(0, 0), Payload(x)), *(shard.handle(Join(rank, 0)) for rank in ranks)]
    seen = dict.fromkeys(ranks, 0)
    for seq in range(1, 4):
        for rank in ranks:
            seen |= {response.rank: response.version for output in outputs for response in output.responses}
            push = Push(rank, 0, seq, seen[rank], steps=EVERY, examples=2, want="center", position=EVERY * seq, finite=True)
            outputs = [shard.handle(push, Payload(x))]
    del outputs
    state = shard.state()
    queue = state["evaluations"]
    assert (len(queue["kept"]) if queue else 0) == kept
    gc.collect()
    return len({one.data_ptr() for one in long_vectors() if id(one) not in before} - {x.data_ptr()})


def long_vectors() -> list[torch.Tensor]:
    return [one for one in gc.get_objects() if type(one) is torch.Tensor and one.numel() == LENGTH]


@pytest.mark.more
@pytest.mark.parametrize(
    ("strategy", "fields", "gone"),
    [
        ("async", {}, 0),
        ("async", {"optimizer": {"name": "adam"}}, 2),
        ("async", {"optimizer": {"name": "sgd", "momentum_correction": True}}, 0),
        ("async", {"evaluate": {"every": "12 samples", "average": 0.01}}, 3 + 1),
        ("sync", {"evaluate": {"every": "8 samples"}, "optimizer": {"name": "sgd", "momentum": 0.9}}, 1 + 1),
        ("dc_asgd", {}, 0),
        ("dc_asgd", {"strategy": {"name": "dc_asgd", "adaptive": True}}, 0),
        ("delayed_diloco", {}, 1),
        ("dynsgd", {}, 0),
        ("easgd", {}, 1),
        ("easgd", {"gate": "bsp"}, 4),
        ("adag", {"gate": "bsp"}, 0),
    ],
    ids=lambda value: str(value) if isinstance(value, str | int) else "-".join(value) or "plain",
)
def test_the_forecast_counts_what_a_shard_holds(strategy: str, fields: dict[str, Any], gone: int) -> None:
    """`gone`: vectors of a step and responses, which are dropped by then. With evaluations, the last center and those that
    rounds under way would add, too."""
    spec = job(**{"strategy": {"name": strategy, "lr": 0.1}, "workers": 4} | fields)
    kept = HOLD_AT if "every" in fields.get("evaluate", {}) else 0
    assert memory(spec, Size(parameters=LENGTH)).server / (4 * LENGTH) == vectors_held(spec, kept) + gone


def test_a_weight_decay_of_a_group_takes_what_one_of_all_takes() -> None:
    given: list[dict[str, Any]] = [{"groups": [{"match": "*.bias", "weight_decay": 0.1}]}, {"weight_decay": 0.1}, {}]
    jobs = [job({"name": "async", "lr": 0.1}, optimizer={"name": "sgd", "momentum": 0.9, **each}) for each in given]
    of_group, of_all, none = (memory(spec, Size(parameters=LENGTH)).server for spec in jobs)
    assert of_group == of_all > none
