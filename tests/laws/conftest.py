"""Each law runs in the simulator (`make unit`) and over real Redis (`make integration`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.local.redis import Redis
from gradstream.spec import JobSpec
from tests.integration.plane.cluster import Cluster, Make
from tests.laws.driver import Driver, OverRedis, Simulator, Watch

torch.set_num_threads(1)

BOTH = [pytest.param("simulator", marks=pytest.mark.simulator), pytest.param("over_redis", marks=pytest.mark.redis)]


@pytest.fixture(params=BOTH)
def driver(request: pytest.FixtureRequest) -> Any:
    """What runs the jobs of a law: see `Driver`."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def simulator(watch: Watch) -> Driver:
    return Simulator(watch)


@pytest.fixture
def over_redis(watch: Watch, shared_redis: Redis, tmp_path: Path) -> Iterator[Driver]:
    made: list[Cluster] = []

    def cluster(spec: JobSpec, problem: Make) -> Cluster:
        made.append(Cluster(shared_redis, spec, problem, tmp_path / str(len(made))))
        return made[-1]

    yield OverRedis(watch, cluster)
    for attempt in made:
        attempt.close()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)
