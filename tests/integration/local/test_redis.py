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
from gradstream.local.servers.redis import Entrance, Redis, answers, start_on_free_port
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


def test_other_machines_need_an_account(short_dir: Path, password_file: Path) -> None:
    def make(port: int) -> Redis:
        entrance = Entrance("127.0.0.1", port)
        return Redis("open", short_dir / "open", log=short_dir / "open.log", password_file=password_file, entrance=entrance)

    server = start_on_free_port(make)
    try:
        assert server.url.startswith("unix://"), "the programs of this machine keep to the socket"
        assert server.entrance
        with redis.Redis.from_url(server.entrance.url) as stranger, pytest.raises(redis.exceptions.AuthenticationError):
            stranger.ping()
    finally:
        server.stop()
