"""Rules that treat layers apart, over real Redis: the bits of the simulator, and of a run that is resumed from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gradstream import sim
from gradstream.process.order import Resume
from gradstream.sim.toys import job
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster
from tests.unit.strategies.fit import Fits

RULES: list[dict[str, Any]] = [
    {"name": "lars", "trust": 0.02, "weight_decay": 0.01, "groups": [{"match": "*.bias", "adapt": False}]},
    {"name": "muon", "adamw": ["4.*"]},
    {"name": "adam", "groups": [{"match": "2.*", "lr_factor": 0.5}]},
    {"name": "sgd", "clip_parameter_norm": 0.1},
]


class Wide(Fits):
    """Its largest matrix has more elements than a block of 4,096."""

    def model(self) -> nn.Module:
        torch.manual_seed(7)
        return nn.Sequential(nn.Linear(5, 90), nn.Tanh(), nn.Linear(90, 90), nn.Tanh(), nn.Linear(90, 2))


@pytest.mark.few(2)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])
def test_a_job_is_resumed_with_the_bits_of_the_simulator(
    rule: dict[str, Any], cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    spec = job({"name": "sync", "lr": 0.05}, workers=2, shards=3, steps=12, batch_size=8, optimizer=rule)
    first = cluster(spec, Wide(50), folder=tmp_path)

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 5:
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    went_on = first.run()
    second = cluster(spec, Wide(50), folder=tmp_path, number=2, job=first.job, resume=Resume(attempt=1, checkpoint=1))
    resumed = second.run()
    assert [server.shard.center.version for server in second.servers] == [12, 12, 12]
    assert torch.equal(resumed, went_on)
    assert torch.equal(went_on, sim.run(spec, Wide(50), align=4096).center)
    lengths = sorted(server.shard.center.theta.numel() for server in second.servers)
    assert lengths == ([0, 4276, 4636] if rule["name"] == "adam" else [272, 540, 8100]), "cuts lie where a parameter begins"
