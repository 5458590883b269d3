from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradstream.local.servers.redis import Redis
from gradstream.spec import JobSpec
from tests.integration.plane.cluster import Cluster, Make


@pytest.fixture
def cluster(shared_redis: Redis, redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes one attempt on a real Redis; what is left of it is removed with the test, before a Redis of its own is."""
    made: list[Cluster] = []

    def make(spec: JobSpec, problem: Make, redis: Redis = shared_redis, **more: Any) -> Cluster:
        made.append(Cluster(redis, spec, problem, more.pop("folder", tmp_path / str(len(made))), **more))
        return made[-1]

    yield make
    for attempt in made:
        attempt.close()
