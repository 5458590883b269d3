"""The law of a followed stream and topic: each entry counts once in the model that survives. In the simulator, on a real Redis and
on the broker of `tests.kafka`."""

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
from gradstream.center.positions import offsets_at
from gradstream.local.servers.redis import Redis
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.kafka import KafkaBroker
from tests.unit.sim.test_asked_rows import Entries

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


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """With a topic of uneven partitions, whose message at offset n of the m-th partition has a user of its own."""
    made, user = KafkaBroker(), 0
    made.create("counted", 3)
    for partition, share in enumerate((120, 72, 48)):
        made.add("counted", partition, [{"user": user + number} for number in range(share)], at=1_700_000_000)
        user += share
    assert user == ENTRIES
    yield made
    made.stop()


def job(
    stream: tuple[str, str] | KafkaBroker, strategy: str, model: str = "CountedEntries", **more: Any
) -> tuple[JobSpec, Workloads]:
    where = (
        {"servers": stream.servers, "key": "counted"}
        if isinstance(stream, KafkaBroker)
        else dict(zip(("url", "key"), stream, strict=True))
    )
    spec = JobSpec.model_validate(
        {
            "name": "counted",
            "workload": {"entrypoint": f"counted_entries:{model}", "args": {**where, "entries": ENTRIES}},
            "strategy": {"name": strategy, "lr": 0.5},
            "roles": {"worker": {"count": WORKERS}, "server": {"count": 2}},
            "batch_size": BATCH,
            "stop": {"steps": STEPS},
            **more,
        }
    )
    return spec, Workloads(spec, USERLAND)


@pytest.mark.few(1)
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


@pytest.mark.more
@pytest.mark.parametrize("seed", range(3))
def test_each_message_counts_once_however_often_workers_are_lost(broker: KafkaBroker, seed: int) -> None:
    """A worker that comes again has no state: it goes on at the place that its last push had."""
    spec, workloads = job(broker, "async")
    result = sim.run(spec, workloads, seed=seed, mtbf=6.0, down=1.0, duplicates=0.1)
    assert result.failures > 3
    assert torch.equal(result.center, torch.full((ENTRIES,), 0.5 / BATCH)), "each moved by one step"


@pytest.mark.more
def test_an_attempt_that_resumes_behind_deleted_messages_has_the_bits_of_a_calm_one(broker: KafkaBroker) -> None:
    momentum = {"name": "sgd", "momentum": 0.9}
    calm = sim.run(*job(broker, "sync", optimizer=momentum), checkpoints=[7 * WORKERS])
    checkpoint = calm.checkpoints[7 * WORKERS]
    offsets = zip(*map(offsets_at, checkpoint.shards[0]["members"]["positions"].values()), strict=True)
    needed = [min(of_workers) for of_workers in offsets]
    assert sum(needed) > 60
    for partition, offset in enumerate(needed):
        broker.delete_records("counted", partition, offset)
    resumed = sim.run(*job(broker, "sync", optimizer=momentum), resume=checkpoint)
    assert torch.equal(resumed.center, calm.center)
    assert len(set(calm.center.tolist())) > 1, "with momentum an early message has moved more"


ROWS = {"tables": {"user": {"rule": {"name": "sgd", "lr": 0.5}, "init": {"uniform": 0.0}}}}


def learned(result: sim.Result) -> list[float]:
    """The weights of the rows of all entries, in their order."""
    parts = [shard["center"]["tables"]["tables"]["user"]["columns"] for shard in result.shards]
    found = {key: value for part in parts for key, value in zip(part["keys"].tolist(), part["values"][:, 0].tolist(), strict=True)}
    return [found[number] for number in range(ENTRIES)]


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(2))
def test_pushes_ask_for_rows_of_a_stream_and_each_entry_counts_once(
    stream: tuple[str, str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = Entries(monkeypatch)
    result = sim.run(*job(stream, "async", "CountedRows", **ROWS), seed=seed, mtbf=6.0, down=1.0, duplicates=0.1)
    assert result.failures > 3
    assert learned(result) == [0.5 / BATCH] * ENTRIES, "each moved by one step"
    assert entries.asking > STEPS
    assert sum(entries.lookups.values()) <= WORKERS + 2 * result.failures, "one for the first mini-batch of each incarnation"


@pytest.mark.more
def test_a_resumed_attempt_takes_entries_again_that_were_taken_ahead(stream: tuple[str, str]) -> None:
    calm = sim.run(*job(stream, "sync", "CountedRows", **ROWS), checkpoints=[7 * WORKERS])
    url, key = stream
    assert data.redis_stream(url, key, ids=["user"]).trim(7 * WORKERS * BATCH) == 7 * WORKERS * BATCH
    resumed = sim.run(*job(stream, "sync", "CountedRows", **ROWS), resume=calm.checkpoints[7 * WORKERS])
    assert learned(resumed) == learned(calm)
