"""Vectors of responses that lie damaged in Redis, or are lost there: rejected and resent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.errors import PlaneLost
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.wire import port
from gradstream.wire.transport import checksum, remote
from gradstream.wire.transport.checksum import PART
from gradstream.wire.transport.outbox import Outbox, Outgoing
from tests.integration.plane.cluster import Cluster

Make = Callable[..., Cluster]
Spoil = Callable[[Callable[[str], bool]], list[str]]


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=20_011)


def put_damaged(put: Callable[..., None], outbox: Outbox, vector: Outgoing, index: int) -> None:
    """A byte is another one, under the sum of the right one."""
    good = vector.data
    vector.until(len(good))
    spoiled = bytearray(good)
    spoiled[index * PART] ^= 1
    vector.sums[index], vector.data = checksum.of_part(good[index * PART : (index + 1) * PART]), memoryview(spoiled)
    put(outbox, vector, index)
    vector.data = good


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Spoil:
    def those(which: Callable[[str], bool]) -> list[str]:
        """Damage the vectors of responses whose key is one of those; their keys, as it happens."""
        put, found = Outbox.put, list[str]()

        def put_some_damaged(outbox: Outbox, vector: Outgoing, index: int) -> None:
            if ":c:" not in vector.key or not which(vector.key):
                put(outbox, vector, index)
                return
            found.append(vector.key)
            put_damaged(put, outbox, vector, index)

        monkeypatch.setattr(Outbox, "put", put_some_damaged)
        return found

    return those


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "QUIET", 2)


def some(every: int) -> Callable[[str], bool]:
    """Every so many of them."""
    seen = list[str]()

    def one_of(key: str) -> bool:
        seen.append(key)
        return len(seen) % every == 0

    return one_of


def books(attempt: Cluster) -> list[tuple[int, int]]:
    return [(account.pushed, account.applied) for _, account in sorted(attempt.servers[0].shard.ledger.accounts.items())]


STRATEGIES: dict[str, dict[str, Any]] = {"sync": {}, "easgd": {"window": 2}, "local_sgd": {"window": 2}}


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("local", [(), (1,)], ids=["remote", "one-local"])
def test_a_damaged_vector_comes_again_with_the_same_bits(
    cluster: Make, spoil: Spoil, strategy: str, local: tuple[int, ...]
) -> None:
    spec = job({"name": strategy, "lr": 0.1, **STRATEGIES[strategy]}, workers=2, shards=2, steps=6, gate="bsp")
    spoiled = spoil(some(5))
    attempt = cluster(spec, bowl, local=local)
    center = attempt.run()
    assert spoiled, "some were damaged"
    assert torch.equal(center, sim.run(spec, bowl, align=4096).center)
    assert all(pushed == applied > 0 for pushed, applied in books(attempt))


@pytest.mark.more
@pytest.mark.parametrize("pipeline", [0, 1])
def test_bases_that_a_strategy_keeps_are_those_of_the_centers_that_came(cluster: Make, spoil: Spoil, pipeline: int) -> None:
    spec = job({"name": "dc_asgd", "lr": 0.05}, workers=2, shards=2, steps=5, pipeline=pipeline)
    spoiled = spoil(some(4))
    attempt = cluster(spec, bowl)
    center = attempt.run()
    assert spoiled
    assert torch.isfinite(center).all()
    assert books(attempt) == [(5, 5)] * 2


def test_a_vector_that_is_lost_comes_again(cluster: Make, spoil: Spoil, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = job({"name": "sync", "lr": 0.1}, workers=1, shards=1, steps=4)
    finish, lost = Outbox.finish, list[str]()

    def lose_one(outbox: Outbox, vectors: list[Outgoing]) -> None:
        kept = [vector for vector in vectors if ":c:" not in vector.key or lost]
        lost.extend(vector.key for vector in vectors if vector not in kept)
        finish(outbox, kept)

    monkeypatch.setattr(Outbox, "finish", lose_one)
    attempt = cluster(spec, bowl)
    assert torch.equal(attempt.run(), sim.run(spec, bowl).center)
    assert len(lost) == 1


def test_what_never_comes_whole_ends_the_attempt(cluster: Make, spoil: Spoil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "MAX_RETRIES", 2)
    spoil(lambda key: True)
    attempt = cluster(job({"name": "sync", "lr": 0.1}, workers=1, shards=1, steps=4), bowl)
    attempt.start()
    attempt.threads[1].join(60)
    assert not attempt.threads[1].is_alive(), "it still waits"
    [error] = attempt.errors
    assert isinstance(error, PlaneLost)
    assert "is not there, or damaged, and 2 others in its place were, too" in str(error)
