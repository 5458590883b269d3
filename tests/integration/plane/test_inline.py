"""Vectors as parts in streams, over real Redis: whole or not at all, whatever breaks on the way."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from redis import exceptions

from gradstream.errors import PlaneLost
from gradstream.local.servers.redis import Redis
from gradstream.wire.redis.bulk import BulkConnection
from gradstream.wire.redis.client import retry
from gradstream.wire.redis.resp import Resp
from gradstream.wire.transport.checksum import PART
from gradstream.wire.transport.inbox import Inbox, StreamedVector
from gradstream.wire.transport.outbox import Outbox, Outgoing, parts
from tests.support import eventually

KEY = "gs:{j:0}:d:0.0"
LONG = 7 * PART + 1234
LENGTHS = [0, 1, PART - 1, PART, PART + 1, LONG]


@dataclass
class Ends:
    """A sender, a receiver and an operator of one Redis."""

    redis: Redis

    def __post_init__(self) -> None:
        account: Any = {"password": self.redis.password, "block": 1.0}
        self.admin = Resp(self.redis.url, **account)
        self.sender, self.reader = Resp(self.redis.url, **account), BulkConnection(self.redis.url, **account)
        self.outbox, self.inbox = Outbox(self.sender), Inbox(self.reader, 64 * PART)

    def send(self, data: bytes, seq: int = 1, key: str = KEY) -> Outgoing:
        vector = Outgoing(key, seq, memoryview(data))
        for index in range(parts(len(data))):
            self.outbox.put(vector, index)
        self.outbox.finish([vector])
        return vector

    def receive(self, vector: Outgoing) -> bytes | None:
        found = retry(
            lambda: self.inbox.vector(vector.key, vector.seq, len(vector.data), vector.checksum), what="reading", bound=10
        )
        return None if found is None else bytes(found)

    def cut(self, connection: Resp | BulkConnection) -> None:
        port = connection._socket.getsockname() if connection._socket else ""
        if isinstance(port, tuple):
            self.admin.ask(("CLIENT", "KILL", "ADDR", f"{port[0]}:{port[1]}"))
        else:
            self.admin.ask(("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal"))

    def length(self, key: str = KEY) -> int:
        return int(self.admin.ask(("XLEN", key))[0])

    def written(self) -> int:
        """XADDs that Redis has seen."""
        [text] = self.admin.ask(("INFO", "commandstats"))
        [calls] = [line.split(b"calls=")[1].split(b",")[0] for line in text.splitlines() if line.startswith(b"cmdstat_xadd:")]
        return int(calls)


@pytest.fixture(params=["unix", "tcp"])
def ends(request: pytest.FixtureRequest, redis_server: Callable[..., Redis]) -> Ends:
    return Ends(redis_server(tcp=request.param == "tcp"))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_vector_arrives_whole_and_is_freed(ends: Ends, length: int) -> None:
    for seq in (1, 2, 3):
        data = os.urandom(length)
        assert ends.receive(ends.send(data, seq)) == data
        assert ends.length() == 0


def test_a_receiver_that_waits_takes_parts_before_the_last_was_sent(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = Outgoing(KEY, 1, memoryview(data))
    ends.inbox.watch(KEY)
    ends.inbox.arm()
    for index in (7, 2, 5):
        ends.outbox.put(vector, index)
    while ends.inbox._streams[KEY.encode()].arriving.get(1) is None or ends.inbox._streams[KEY.encode()].arriving[1]._left > 5:
        assert ends.inbox.take()
        ends.inbox.arm()
    eventually(lambda: ends.length() == 0, "what has arrived to be freed")
    ends.outbox.finish([vector])
    assert ends.receive(vector) == data


def test_a_stream_that_is_new_while_the_receiver_waits_for_others(ends: Ends) -> None:
    ends.inbox.watch("other")
    ends.inbox.arm()
    data = os.urandom(LONG)
    assert ends.receive(ends.send(data)) == data


def test_a_read_that_ended_without_news_is_no_sign_that_a_part_is_missing(ends: Ends) -> None:
    ends.inbox.watch(KEY)
    ends.inbox.arm(block=0.001)
    eventually(lambda: ends.admin.ask(("CLIENT", "LIST"))[0].count(b"flags=b") == 0, "the end of the read")
    data = os.urandom(PART)
    assert ends.receive(ends.send(data)) == data


def test_a_connection_cut_in_the_middle_of_sending_costs_only_what_was_not_confirmed(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = Outgoing(KEY, 1, memoryview(data))
    for index in range(4):
        ends.outbox.put(vector, index)
    ends.outbox._confirm(0)
    ends.cut(ends.sender)
    for index in range(4, 8):
        ends.outbox.put(vector, index)
    ends.outbox.finish([vector])
    assert ends.receive(vector) == data
    assert 8 <= ends.written() <= 12, "the first four were not sent again"


def test_a_connection_cut_in_the_middle_of_receiving_goes_on_where_it_was(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = ends.send(data)
    ends.inbox.watch(KEY)
    ends.reader.post(("XREAD", "COUNT", 3, "STREAMS", KEY, "0"))
    ends.reader.entries(ends.inbox._place, ends.inbox._taken)
    ends.inbox.arm()
    ends.cut(ends.reader)
    assert ends.receive(vector) == data
    assert ends.length() == 0


def test_a_connection_that_ends_inside_of_a_part(ends: Ends) -> None:
    """Also when it does so again and again: each time something more has arrived."""
    data = os.urandom(LONG)
    vector = ends.send(data)
    with limping(ends.redis.url, after=2 * PART + 1000) as url:
        ends.inbox = Inbox(BulkConnection(url, password=ends.redis.password, block=1.0), 64 * PART)
        assert ends.receive(vector) == data


@contextlib.contextmanager
def limping(url: str, after: int) -> Iterator[str]:
    """A way to a Redis on which every connection breaks when it has brought so many bytes."""
    from gradstream.wire.redis.connection import connector

    def carry(source: socket.socket, sink: socket.socket, most: float) -> None:
        with contextlib.suppress(OSError):
            while most > 0 and (data := source.recv(min(65536, int(min(most, 65536))))):
                sink.sendall(data)
                most -= len(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                redis = connector(url)()
                redis.settimeout(None)
                for task in ((client, redis, float("inf")), (redis, client, after)):
                    threading.Thread(target=carry, args=task, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_damaged_part_counts_as_missing_until_it_comes_again(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = ends.send(data)
    [[victim, fields]] = ends.admin.ask(("XRANGE", KEY, "-", "+", "COUNT", 1))[0]
    ends.admin.ask(("XDEL", KEY, victim))
    ends.admin.ask(("XADD", KEY, "*", *fields[:-1], bytes([fields[-1][0] ^ 1]) + fields[-1][1:]))
    assert ends.receive(vector) is None
    assert ends.receive(ends.send(data)) == data


def test_a_missing_part_is_told(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = ends.send(data)
    [[victim, _]] = ends.admin.ask(("XRANGE", KEY, "-", "+", "COUNT", 1))[0]
    ends.admin.ask(("XDEL", KEY, victim))
    assert ends.receive(vector) is None
    assert ends.receive(ends.send(data)) == data


def test_parts_that_are_not_what_the_header_says_are_refused(ends: Ends) -> None:
    vector = ends.send(os.urandom(LONG))
    other = Outgoing(KEY, 1, memoryview(os.urandom(LONG)), sums=[])
    other.sums = list(vector.sums)[::-1]
    assert ends.receive(other) is None


def test_what_no_header_asks_for_is_forgotten(ends: Ends) -> None:
    data = os.urandom(LONG)
    for seq in range(50, 60):
        ends.send(os.urandom(PART), seq)
    assert ends.receive(ends.send(data, 1)) is None, "three unknown vectors are all that it keeps"
    assert ends.receive(ends.send(data, 1)) == data, "one that a header asks for is worth more"
    assert ends.receive(ends.send(data, 90)) == data
    assert not ends.inbox._streams[KEY.encode()].arriving


def test_a_vector_that_comes_twice_or_late_does_no_harm(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = ends.send(data)
    ends.send(data)
    assert ends.receive(vector) == data
    ends.send(os.urandom(LONG))
    data = os.urandom(LONG)
    assert ends.receive(ends.send(data, 2)) == data
    assert ends.length() == 0


def test_other_things_in_the_stream_are_read_over(ends: Ends) -> None:
    """User code shares its process's account, so it can write there."""
    big = os.urandom(3 * PART)
    good = {"s": 1, "i": 0, "n": LONG, "c": 0}
    for fields in (
        {"x": "y"},
        {"b": big},
        {"big": big},
        {**good, "b": big},
        {**good, "i": -1, "b": "x"},
        {**good, "i": 99, "b": "x"},
        {**good, "n": 10**15, "b": "x"},
        {**good, "n": -5, "b": ""},
        {**good, "s": "me", "b": "x"},
        {"b": "x", **good},
    ):
        ends.admin.ask(("XADD", KEY, "*", *(part for item in fields.items() for part in item)))
    data = os.urandom(LONG)
    assert ends.receive(ends.send(data)) == data


def test_a_full_redis_makes_the_sender_wait(ends: Ends) -> None:
    data = os.urandom(LONG)
    vector = Outgoing(KEY, 1, memoryview(data))
    ends.admin.ask(("CONFIG", "SET", "maxmemory", 5_000_000))
    more_memory = threading.Timer(1.0, ends.admin.ask, [("CONFIG", "SET", "maxmemory", 100_000_000)])
    more_memory.start()
    for index in range(8):
        ends.outbox.put(vector, index)
    ends.outbox.finish([vector])
    more_memory.join()
    assert ends.receive(vector) == data


def test_a_redis_that_came_back_without_the_account_ends_the_attempt(redis_server: Callable[..., Redis]) -> None:
    ends = Ends(redis_server())
    ends.admin.ask(("ACL", "SETUSER", "gs-j", "on", ">secret", "~gs:*", "+@stream"))
    box = Outbox(Resp(ends.redis.url, user="gs-j", password="secret", block=1.0))
    vector = Outgoing(KEY, 1, memoryview(os.urandom(LONG)))
    for index in range(4):
        box.put(vector, index)
    ends.redis.stop()
    ends.redis.start()
    ends.redis.wait()
    with pytest.raises(PlaneLost, match="does not know"):
        box.finish([vector])


def test_a_center_can_be_read_while_it_is_being_written(ends: Ends) -> None:
    data, place = os.urandom(LONG), memoryview(bytearray(LONG))
    reading = StreamedVector(ends.reader, KEY, place)
    assert not reading.read(block=0.05), "nobody has begun to write"
    writer = threading.Timer(0.1, ends.send, [data, 0])
    writer.start()
    while not reading.read():
        pass
    writer.join()
    assert place == data
    assert ends.length() == 8, "others may want to read it"
    ends.cut(ends.reader)
    again = StreamedVector(ends.reader, KEY, place)
    with pytest.raises(exceptions.ConnectionError):
        again.read()
    assert again.read()
    assert again.vector.checksum == reading.vector.checksum


def test_a_center_of_which_a_part_is_damaged_is_not_whole_until_it_is_good(ends: Ends) -> None:
    data, place = os.urandom(LONG), memoryview(bytearray(LONG))
    ends.send(data, 0)
    [[victim, fields]] = ends.admin.ask(("XRANGE", KEY, "-", "+", "COUNT", 1))[0]
    ends.admin.ask(("XDEL", KEY, victim))
    ends.admin.ask(("XADD", KEY, "*", *fields[:-1], bytes([fields[-1][0] ^ 1]) + fields[-1][1:]))
    reading = StreamedVector(ends.reader, KEY, place)
    for _ in range(2):
        assert not reading.read(block=0.05)
        reading.look_again()
    ends.admin.ask(("XADD", KEY, "*", *fields))
    assert reading.read(block=0.05)
    assert place == data
