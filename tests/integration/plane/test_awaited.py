"""A worker that all others wait for is named: it may be frozen, which closes no connection and writes no log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from redis import Redis as Client

from gradstream.serverless import awaited
from gradstream.serverless.awaited import AwaitedWorkers
from gradstream.training.replica import Replica
from gradstream.wire.redis.client import connect
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_collective import Uneven, spec_of
from tests.integration.plane.test_serverless import CASES
from tests.support import TIMEOUT, eventually

Said = list[tuple[int, float]]


@pytest.fixture
def attempt(cluster: Callable[..., Cluster]) -> Cluster:
    return cluster(spec_of(CASES["sync"], 3, steps=12), Uneven, gloo=True)


@pytest.fixture
def redis(attempt: Cluster) -> Iterator[Client]:
    with connect(attempt.access.url, user=attempt.access.user, password=attempt.access.password) as client:
        yield client


def workers(attempt: Cluster, redis: Client) -> tuple[list[AwaitedWorkers], list[Said]]:
    said: list[Said] = [[] for _ in range(3)]
    made = [AwaitedWorkers(redis, attempt.j, rank, lambda of, s, mine=said[rank]: mine.append((of, s))) for rank in range(3)]
    return made, said


def test_the_first_that_waits_names_those_that_have_not_come(attempt: Cluster, redis: Client) -> None:
    (first, second, third), said = workers(attempt, redis)
    for seconds in (1.0, 6.0, 12.0, 21.0):
        for each in (second, third):
            each.look(seconds, 7, range(3))
    assert said == [[], [(0, 21.0)], []]
    second.look(27.0, 7, range(3))
    second.end()
    assert said[1] == [(0, 21.0), (0, 27.0), (0, 0.0)]
    first.look(27.0, 8, range(3))  # the next turn, to which the others have not come
    assert said[0] == [(1, 27.0), (2, 27.0)]


def test_a_wait_is_unusual_that_is_longer_than_those_before(attempt: Cluster, redis: Client) -> None:
    (first, *_), said = workers(attempt, redis)
    first.look(10.0, 1, range(2))
    first.end()
    first.look(45.0, 2, range(2))
    assert said[0] == []
    first.look(51.0, 2, range(2))
    assert said[0] == [(1, 51.0)]


def test_workers_that_start_are_not_awaited(attempt: Cluster, redis: Client) -> None:
    (first, *_), said = workers(attempt, redis)
    first.look(100.0, 0, range(2))
    assert said[0] == []


@pytest.mark.parametrize("way", [{"gloo": True}, {"serverless": True, "local": range(3)}], ids=["gloo", "shared memory"])
def test_a_worker_that_stands_still_is_named_until_it_goes_on(
    way: dict[str, object], cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaited, "SAYS_EVERY", 0.3)
    monkeypatch.setattr(awaited, "LEAST", 1.5)
    attempt, said, go_on = cluster(spec_of(CASES["sync"], 3, steps=8, shards=1 if "gloo" in way else 3), Uneven, **way), [], None
    go_on = threading.Event()

    def stand_still(rank: int, w: Replica) -> None:
        if w.t == 2 and rank != 1:
            attempt.ports[rank]._awaited._report = lambda of, seconds: said.append((of, seconds > 0))
        if w.t == 4 and rank == 1:
            go_on.wait(TIMEOUT)

    attempt.before_round = stand_still
    attempt.start()
    eventually(lambda: (1, True) in said, "worker 1 is named")
    go_on.set()
    attempt.finish()
    assert {rank for rank, _ in said} == {1}, "and no other"
    assert said[-1] == (1, False)
