"""A group of workers over gloo that is given up: what it leaves behind, and how long it waits for a worker that is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import torch
from redis import Redis as Client
from torch._C._distributed_c10d import ProcessGroupGloo

from gradstream.process.exits import UserError
from gradstream.serverless.collective import group as groups
from gradstream.serverless.collective.group import GlooGroup, GroupBroken
from gradstream.serverless.collective.meeting import RedisStore, host_id
from gradstream.sim.toys import job
from gradstream.wire.redis.client import connect
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_overlap import Gathering
from tests.support import eventually


@pytest.fixture
def attempt(cluster: Callable[..., Cluster]) -> Cluster:
    return cluster(job({"name": "sync", "lr": 0.05}, workers=3, shards=1, steps=1), Gathering, gloo=True)


@pytest.fixture
def redis(attempt: Cluster) -> Iterator[Client]:
    with connect(attempt.access.url, user=attempt.access.user, password=attempt.access.password) as client:
        yield client


def connected(attempt: Cluster, redis: Client, prefix: str) -> list[GlooGroup]:
    found: dict[int, GlooGroup] = {}

    def join(rank: int) -> None:
        given = redis, attempt.access, attempt.j, rank, range(3), lambda waited: None
        found[rank] = GlooGroup(*given, prefix=prefix, end_timeout=0.0)

    threads = [threading.Thread(target=join, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[rank] for rank in range(3)]


def threads_and_sockets() -> tuple[int, int]:
    links = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            links.append(os.readlink(link))
        except FileNotFoundError:  # the folder's own
            continue
    return len(os.listdir("/proc/self/task")), sum(link.startswith("socket:") for link in links)


def test_a_group_that_is_given_up_leaves_no_thread_and_no_socket(attempt: Cluster, redis: Client) -> None:
    """One worker is killed, so two others wait for it in an allreduce."""
    redis.ping()
    before = threads_and_sockets()
    for turn in range(3):
        killed, *others = connected(attempt, redis, f"{turn}/")
        works = [other.begin_sum(torch.ones(1000)) for other in others]
        for one in (*others, killed):
            one.abandon()
        del works
    threads, sockets = before
    eventually(lambda: threads_and_sockets()[0] <= threads or None, "its threads have ended")
    eventually(lambda: threads_and_sockets()[1] <= sockets + 3 or None, "its connections are closed but for the pool of Redis")


class Dying(RedisStore):
    """The thread of a worker that is killed when the others know its address, and before it connects to them."""

    def get(self, key: str) -> bytes:
        raise KeyError(key)


def die_while_connecting(attempt: Cluster, redis: Client, prefix: str) -> None:
    store = Dying(redis, attempt.j, lambda waited: None, prefix)
    store.set("worker-0", f"{host_id()} 127.0.0.2")
    options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    options._devices = [ProcessGroupGloo.create_device(hostname="127.0.0.2")]
    with pytest.raises(KeyError):
        ProcessGroupGloo(store, 0, 2, options)  # type: ignore[call-arg]


def test_a_worker_that_is_lost_while_gloo_connects_ends_the_wait_for_it(attempt: Cluster, redis: Client) -> None:
    die_while_connecting(attempt, redis, "0/")

    def look(waited: float) -> None:
        if waited:
            raise GroupBroken("worker 2 is lost")

    with pytest.raises(GroupBroken, match="worker 2 is lost"):
        GlooGroup(redis, attempt.access, attempt.j, 5, [2, 5], look, prefix="0/", end_timeout=0.0)


def test_a_worker_that_cannot_connect_is_named_by_its_rank(
    attempt: Cluster, redis: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_while_connecting(attempt, redis, "0/")
    monkeypatch.setattr(groups, "_CONNECT_TIMEOUT", timedelta(seconds=1))
    with pytest.raises(UserError, match=r"gloo could not connect worker 5 at 127\.0\.0\.1"):
        GlooGroup(redis, attempt.access, attempt.j, 5, [2, 5], lambda waited: None, prefix="0/", end_timeout=0.0)
