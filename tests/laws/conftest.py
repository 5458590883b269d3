"""Each law runs in the simulator (`make unit`) with all of its parameters, and over real Redis (`make integration`) with the first.

`make test-long` runs the other parameters over Redis, and all of them with shared memory: `test_same.py` compares the bits of all
three drivers under every strategy and gate.
"""

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark laws over Redis as `long`, but each law's first parameters. It comes before pytest selects by marks."""
    laws = set[str]()
    for item in items:
        if isinstance(item, pytest.Function) and _driver(item) == "over_redis":
            law = item.nodeid.partition("[")[0]
            if law in laws:
                item.add_marker(pytest.mark.long)
            laws.add(law)


def _driver(item: pytest.Function) -> object:
    """Name what runs this law; None for a test without the parameter."""
    return item.callspec.params.get("driver") if hasattr(item, "callspec") else None


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
