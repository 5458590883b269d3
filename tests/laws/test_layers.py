"""Rules that treat layers apart: any number of servers has the bits of one, and one worker those of the rule on its model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from gradstream.optim.layers import LambSteps, LarsSteps, MuonSteps
from gradstream.sim.toys import job
from tests.laws.driver import Driver
from tests.unit.strategies import plain
from tests.unit.strategies.fit import Fits, network

GROUPS = [{"match": "*.bias", "lr_factor": 2.0, "weight_decay": 0.0}]
RULES: list[dict[str, Any]] = [
    {"name": "lars", "trust": 0.02, "weight_decay": 0.01, "groups": [{"match": "*.bias", "adapt": False}]},
    {"name": "lamb"},
    {"name": "muon", "adamw": ["2.*"]},
    {"name": "adamw", "groups": GROUPS},
    {"name": "sgd", "groups": GROUPS},
    {"name": "sgd", "momentum": 0.9, "clip_parameter_norm": 0.05},
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])


@pytest.mark.few(4)
@every_rule
@pytest.mark.parametrize("strategy", ["sync", "async", "dc_asgd", "local_sgd"])
def test_any_number_of_servers_has_the_same_bits(strategy: str, rule: dict[str, Any], driver: Driver) -> None:
    server = {"optimizer": {**rule, "lr": 0.5}} if strategy == "local_sgd" else {}
    centers = []
    for shards in (1, 2, 3, 8):
        roles = {"server": {"count": shards, **server}, "worker": {"count": 2}}
        optimizer = {"name": "sgd"} if server else rule
        spec = job({"name": strategy, "lr": 0.1}, optimizer=optimizer, roles=roles, batch_size=8, steps=9)
        centers.append(driver.run(spec, Fits(examples=50)).center)
    assert all(torch.equal(center, centers[0]) for center in centers)
    assert not torch.equal(centers[0], nn.utils.parameters_to_vector(network().parameters()))


def _lars(p: Any) -> torch.optim.Optimizer:
    whole: dict[str, Any] = {"params": [p[0], p[2]], "lr": 0.1}
    plain: dict[str, Any] = {"params": [p[1], p[3]], "lr": 0.1, "adapt": False}
    return LarsSteps([whole, plain], trust=0.02, weight_decay=0.01, momentum=0.9)


def _lamb(p: Any) -> torch.optim.Optimizer:
    return LambSteps([{"params": list(p), "lr": 0.1}], betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01)


def _muon(p: Any) -> torch.optim.Optimizer:
    matrix: dict[str, Any] = {"params": [p[0]], "lr": 0.1, "orthogonal": True}
    others: dict[str, Any] = {"params": p[1:], "lr": 0.1, "orthogonal": False}
    options: dict[str, Any] = {"betas": (0.9, 0.999), "eps": 1e-8}
    return MuonSteps([matrix, others], weight_decay=0.1, momentum=0.95, nesterov=True, ns_steps=5, **options)


class _Clipping(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for p in self.param_groups[0]["params"]:
            norm = float(torch.linalg.vector_norm(p.grad))
            p.grad *= min(1.0, 0.05 / (norm + 1e-6))
        super().step()


def _clipping(p: Any) -> torch.optim.Optimizer:
    return _Clipping(p, lr=0.1, momentum=0.9)


def _in_groups(kind: Any) -> Any:
    groups: Any = lambda p: [{"params": [p[0], p[2]]}, {"params": [p[1], p[3]], "lr": 0.2, "weight_decay": 0.0}]  # noqa: E731
    return lambda p: kind(groups(p), lr=0.1)


TORCHS = [_lars, _lamb, _muon, _in_groups(torch.optim.AdamW), _in_groups(torch.optim.SGD), _clipping]


@pytest.mark.parametrize(("rule", "torchs"), list(zip(RULES, TORCHS, strict=True)), ids=[rule["name"] for rule in RULES])
@pytest.mark.parametrize("strategy", ["sync", "single"])
def test_one_worker_has_the_bits_of_the_rule_on_its_model(strategy: str, rule: dict[str, Any], torchs: Any, driver: Driver) -> None:
    fits = Fits(examples=50)
    run = driver.run(job({"name": strategy, "lr": 0.1}, optimizer=rule, batch_size=8, steps=20), fits)
    assert torch.equal(run.center, plain.train(network(), fits.workloads[0].taken, lambda p: torchs(list(p))))
