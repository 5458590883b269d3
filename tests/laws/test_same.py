"""The platform comes to the bits of the simulator, whatever the strategy and gate, when entries reach its log in the same order."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.sim.toys import NoisyToy
from tests.laws.driver import Driver
from tests.unit.strategies.cases import every_case, spec


@pytest.mark.few(8)
@pytest.mark.redis
@every_case
def test_every_strategy_under_every_gate(name: str, gate: dict[str, Any], over_redis: Driver, over_shared_memory: Driver) -> None:
    job = spec(name, gate, steps=11)
    here = sim.run(job, NoisyToy, schedule="random")
    for driver in (over_redis, over_shared_memory):
        there = driver.run(job, NoisyToy, schedule="random")
        assert torch.equal(there.center, here.center)
        assert there.decisions == here.decisions
        assert there.accounts == here.ledger
