from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import redis

from gradstream.errors import Unavailable
from gradstream.local.redis import NODE_USER, Entrance, Redis, answers, node_account, start_on_free_port
from tests.support import eventually

Start = Callable[..., Redis]


@pytest.fixture
def connect() -> Iterator[Callable[[Redis], redis.Redis]]:
    clients: list[redis.Redis] = []

    def to(server: Redis) -> redis.Redis:
        clients.append(redis.Redis.from_url(server.url, password=server.password))
        return clients[-1]

    yield to
    for client in clients:
        client.close()


@pytest.mark.parametrize("tcp", [False, True])
def test_wants_the_password_which_no_argument_list_shows(redis_server: Start, connect: Callable, tcp: bool) -> None:
    server = redis_server(tcp=tcp)
    assert connect(server).ping()
    assert not answers(server.url, "wrong")
    assert not any(server.password in word for word in psutil.Process(server.child.pid).cmdline())


def test_refuses_writes_when_full_and_takes_them_again(redis_server: Start, connect: Callable) -> None:
    client = connect(redis_server(maxmemory="8mb"))
    client.set("kept", b"x" * 2**20)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        _fill(client, 10 * 2**20)
    assert client.exists("kept")
    client.delete("kept")
    assert client.set("again", b"x" * 2**19)


def _fill(client: redis.Redis, size: int) -> None:
    for number in range(size // 2**20):
        client.set(f"more-{number}", b"x" * 2**20)


def test_starts_again_over_what_a_killed_one_left(redis_server: Start, connect: Callable) -> None:
    server = redis_server()
    os.kill(server.child.pid or 0, signal.SIGKILL)
    eventually(lambda: server.child.poll() == -signal.SIGKILL, "the killed server's exit")
    server.start()
    server.wait()
    assert connect(server).ping()


def test_says_that_its_port_is_taken(short_dir: Path, password_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = Redis(
            "taken", short_dir / "taken", log=short_dir / "taken.log", password_file=password_file, port=taken.getsockname()[1]
        )
        server.start()
        with pytest.raises(Unavailable, match="Address already in use"):
            server.wait()


def test_a_joined_machine_reaches_the_queues_of_nodes_and_nothing_else(short_dir: Path, password_file: Path) -> None:
    def make(port: int) -> Redis:
        entrance = Entrance("127.0.0.1", port, node_account("for-nodes"))
        return Redis("open", short_dir / "open", log=short_dir / "open.log", password_file=password_file, entrance=entrance)

    server = start_on_free_port(make)
    try:
        assert server.url.startswith("unix://"), "the programs of this machine keep to the socket"
        assert server.entrance
        node = redis.Redis.from_url(server.entrance.url(), username=NODE_USER, password="for-nodes")
        assert node.lpush("node.second", "hint") == 1
        refused = (
            lambda: node.get("celery"), lambda: node.publish("gradstream:jobs", "x"), lambda: node.flushall(),
            lambda: node.keys("*"), lambda: node.config_get("requirepass"), lambda: node.acl_list(),
        )  # fmt: skip
        for ask in refused:
            with pytest.raises(redis.exceptions.NoPermissionError):
                ask()
        node.close()
        stranger = redis.Redis.from_url(server.entrance.url())
        with pytest.raises(redis.exceptions.AuthenticationError):
            stranger.ping()
        stranger.close()
    finally:
        server.stop()
