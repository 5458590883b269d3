"""The minimal client against real servers: the replies and errors of redis-py, over TCP and a unix socket."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable

import pytest
from redis import exceptions

from gradstream.errors import PlaneLost
from gradstream.local.servers.redis import Redis
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.resp import Resp
from tests.support import eventually


@pytest.fixture(params=["unix", "tcp"])
def server(request: pytest.FixtureRequest, redis_server: Callable[..., Redis]) -> Redis:
    return redis_server(tcp=request.param == "tcp")


def ours(server: Redis, block: float = 1.0) -> Resp:
    return Resp(server.url, password=server.password, block=block)


def test_several_commands_in_one_write_have_their_replies_in_order(server: Redis) -> None:
    redis = ours(server)
    big = os.urandom(3_000_000)
    [first, count, none, entries, length] = redis.ask(
        ("XADD", "log", "*", b"m", memoryview(big), "n", 7),
        ("HSET", "pos", 0, "1-1"),
        ("XADD", "no", "NOMKSTREAM", "*", "m", ""),
        ("XRANGE", "log", "-", "+"),
        ("XLEN", b"log"),
    )
    assert (count, none, length) == (1, None, 1)
    assert entries == [[first, [b"m", big, b"n", b"7"]]]


def test_more_buffers_than_one_call_takes(server: Redis) -> None:
    redis = ours(server)
    replies = redis.ask(*(("RPUSH", "list", memoryview(b"%d" % number)) for number in range(2000)))
    assert replies == list(range(1, 2001))
    assert redis.ask(("LRANGE", "list", 0, -1)) == [[b"%d" % number for number in range(2000)]]


def test_a_blocking_read_wakes_up_when_something_comes_and_ends_when_nothing_does(server: Redis) -> None:
    redis, writer = ours(server), ours(server)
    timer = threading.Timer(0.2, writer.ask, [("XADD", "log", "1-1", "m", "x")])
    timer.start()
    read = ("XREAD", "BLOCK", 1000, "STREAMS", "log")
    assert redis.ask(("HSET", "pos", "0", "0"), (*read, "0"))[1] == [[b"log", [[b"1-1", [b"m", b"x"]]]]]
    timer.join()
    assert redis.ask((*read, "1-1")) == [None]


def test_errors_are_those_of_redis_py_and_the_other_commands_were_done(server: Redis) -> None:
    redis, admin = ours(server), connect(server.url, password=server.password)
    with pytest.raises(exceptions.ResponseError, match="WRONGTYPE"):
        redis.ask(("SET", "a", "1"), ("XLEN", "a"), ("SET", "b", "2"))
    assert redis.ask(("GET", "a"), ("GET", "b")) == [b"1", b"2"]
    admin.config_set("maxmemory", 1)
    with pytest.raises(exceptions.OutOfMemoryError):
        redis.ask(("SET", "a", "1"))
    admin.config_set("maxmemory", 0)
    admin.acl_setuser("other", enabled=True, passwords=["+secret"], keys=["mine:*"], commands=["+get"])
    other = Resp(server.url, user="other", password="secret", block=1)
    assert other.ask(("GET", "mine:a")) == [None]
    with pytest.raises(exceptions.NoPermissionError):
        other.ask(("GET", "a"))
    admin.acl_deluser("other")
    with pytest.raises(PlaneLost, match="does not know"):
        retry(lambda: other.ask(("GET", "mine:a")), what="reading", bound=5)


def test_a_wrong_password_is_told_at_once(server: Redis) -> None:
    with pytest.raises(exceptions.AuthenticationError):
        Resp(server.url, password="wrong", block=1).ask(("PING",))
    with pytest.raises(PlaneLost, match="does not know"):
        retry(lambda: Resp(server.url, block=1).ask(("PING",)), what="asking")


def test_a_lost_connection_is_told_and_the_next_call_makes_another(server: Redis) -> None:
    redis, admin = ours(server), connect(server.url, password=server.password)
    redis.ask(("PING",))
    admin.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(exceptions.ConnectionError):
        redis.ask(("PING",))
    assert redis.ask(("PING",)) == [b"PONG"]
    server.stop()
    with pytest.raises(exceptions.ConnectionError):
        redis.ask(("PING",))
    server.start()
    server.wait()
    assert retry(lambda: redis.ask(("PING",)), what="asking") == [b"PONG"]


def test_a_frozen_server_costs_the_time_of_the_longest_block_and_a_late_reply_answers_nothing(
    server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradstream.wire.redis.connection.GRACE_PERIOD", 0.2)
    redis = ours(server, block=0.1)
    redis.ask(("PING",))
    assert server.child.pid is not None
    os.kill(server.child.pid, signal.SIGSTOP)
    with pytest.raises(exceptions.TimeoutError):
        redis.ask(("INCR", "a"))
    os.kill(server.child.pid, signal.SIGCONT)
    eventually(lambda: redis.ask(("GET", "a")) == [b"1"], "the command that nobody heard about")


def test_something_that_is_no_redis_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as fake:
        answer = threading.Thread(target=lambda: fake.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        answer.start()
        redis = Resp(f"redis://127.0.0.1:{fake.getsockname()[1]}", block=1)
        with pytest.raises(exceptions.InvalidResponse):
            redis.ask(("PING",))
        answer.join()


@pytest.mark.parametrize("url", ["rediss://host:1", "redis://", "unix://", "redis://host/3", "http://host"])
def test_an_address_that_it_cannot_use_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="write redis://host:port"):
        Resp(url, block=1)
