"""Each law runs in the simulator (`make unit`), over real Redis (`make integration`), and with shared memory (`make test-long`, as
`test_same.py` compares the bits of all three under every strategy and gate)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.local.servers.redis import Redis
from gradstream.spec import JobSpec
from tests.integration.plane.cluster import Cluster, Make
from tests.laws.driver import Driver, OverRedis, Simulator, Watch

torch.set_num_threads(1)

DRIVERS = [
    pytest.param("simulator", marks=pytest.mark.simulator),
    pytest.param("over_redis", marks=pytest.mark.redis),
    pytest.param("over_shared_memory", marks=[pytest.mark.redis, pytest.mark.long]),
]


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> Any:
    """What runs the jobs of a law: see `Driver`."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def simulator(watch: Watch) -> Driver:
    return Simulator(watch)


@pytest.fixture
def over_redis(watch: Watch, shared_redis: Redis, tmp_path: Path) -> Iterator[Driver]:
    yield from _on_the_plane(watch, shared_redis, tmp_path, shares_memory=False)


@pytest.fixture
def over_shared_memory(watch: Watch, shared_redis: Redis, tmp_path: Path) -> Iterator[Driver]:
    yield from _on_the_plane(watch, shared_redis, tmp_path, shares_memory=True)


def _on_the_plane(watch: Watch, redis: Redis, folder: Path, *, shares_memory: bool) -> Iterator[Driver]:
    made: list[Cluster] = []

    def cluster(spec: JobSpec, problem: Make) -> Cluster:
        local = range(spec.roles.server.shards) if shares_memory else ()
        made.append(Cluster(redis, spec, problem, folder / str(len(made)), local=local))
        return made[-1]

    yield OverRedis(watch, cluster)
    for attempt in made:
        attempt.close()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)
