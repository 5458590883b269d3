"""The law of a followed stream: each entry counts once in the model that survives. In the simulator, on a real Redis."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
import torch

from gradstream import data, sim
from gradstream.local.servers.redis import Redis
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

USERLAND = Path(__file__).parents[2] / "userland"
ENTRIES, WORKERS, BATCH = 240, 3, 4
STEPS = ENTRIES // WORKERS // BATCH


@pytest.fixture
def stream(shared_redis: Redis) -> Iterator[tuple[str, str]]:
    """URL and key of a stream whose entry number n has the user n."""
    url, key = f"unix://:{quote(shared_redis.password)}@{shared_redis.url.removeprefix('unix://')}", uuid.uuid4().hex
    client = redis.Redis.from_url(url)
    for number in range(ENTRIES):
        client.xadd(key, {"user": number})
    yield url, key
    client.delete(key)


def job(stream: tuple[str, str], strategy: str, **more: Any) -> tuple[JobSpec, Workloads]:
    url, key = stream
    spec = JobSpec.model_validate(
        {
            "name": "counted",
            "workload": {"entrypoint": "counted_entries:CountedEntries", "args": {"url": url, "key": key, "entries": ENTRIES}},
            "strategy": {"name": strategy, "lr": 0.5},
            "roles": {"worker": {"count": WORKERS}, "server": {"count": 2}},
            "batch_size": BATCH,
            "stop": {"steps": STEPS},
            **more,
        }
    )
    return spec, Workloads(spec, USERLAND)


@pytest.mark.parametrize("seed", range(4))
def test_each_entry_counts_once_however_often_workers_are_lost(stream: tuple[str, str], seed: int) -> None:
    spec, workloads = job(stream, "async")
    result = sim.run(spec, workloads, seed=seed, mtbf=6.0, down=1.0, duplicates=0.1)
    assert result.failures > 3
    assert torch.equal(result.center, torch.full((ENTRIES,), 0.5 / BATCH)), "each moved by one step"


def test_an_attempt_that_resumes_on_a_trimmed_stream_has_the_bits_of_a_calm_one(stream: tuple[str, str]) -> None:
    spec, workloads = job(stream, "sync", optimizer={"name": "sgd", "momentum": 0.9})
    calm = sim.run(spec, workloads, checkpoints=[7 * WORKERS])
    url, key = stream
    trimmed = data.redis_stream(url, key, ids=["user"]).trim(7 * WORKERS * BATCH)
    assert trimmed == 7 * WORKERS * BATCH
    resumed = sim.run(*job(stream, "sync", optimizer={"name": "sgd", "momentum": 0.9}), resume=calm.checkpoints[7 * WORKERS])
    assert torch.equal(resumed.center, calm.center)
    assert len(set(calm.center.tolist())) > 1, "with momentum an early entry has moved more"
