"""The agent's Celery worker: hints, silence, and messages that are none."""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path

import pytest
import redis

from gradstream.local.servers.redis import Redis
from tests.integration.agent.consumers import Consumer, send_hint
from tests.support import TIMEOUT, eventually


def wrong_messages(live: Redis, client: redis.Redis) -> Iterator[bytes]:
    """A hint, in which one member after the other is of a wrong type."""
    send_hint(live, "elsewhere")
    packed: bytes = client.rpop("elsewhere")  # type: ignore[assignment]
    values = itertools.cycle([7, None, ["x"], {"x": 1}, "x"])
    for place in ((), ("headers",), ("properties",), ("properties", "delivery_info")):
        for name in reduce(dict.__getitem__, place, json.loads(packed)):
            message = json.loads(packed)
            reduce(dict.__getitem__, place, message)[name] = next(values)
            yield json.dumps(message).encode()


@pytest.fixture
def quiet(redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[Consumer]:
    quiet = Consumer(redis_server(), tmp_path)
    eventually(lambda: quiet.said("ready."), "the consumer")
    yield quiet
    quiet.kill()


def test_a_hint_is_news_and_a_signal_ends_it(quiet: Consumer) -> None:
    quiet.hint()
    eventually(lambda: quiet.said("news"), "the hint")
    quiet.process.send_signal(signal.SIGTERM)
    assert quiet.process.wait(TIMEOUT) == 0


def test_a_consumer_that_hears_nothing_is_replaced(quiet: Consumer) -> None:
    """Others stand before it in the queue for messages: for the consumer that is the same as hearing nothing."""
    pool = redis.ConnectionPool.from_url(quiet.live.url, password=quiet.live.password)
    others = [pool.get_connection() for _ in range(40)]
    for other in others:
        other.send_command("BRPOP", quiet.queue, 0)  # each takes one ping
    eventually(lambda: quiet.said("replacing the consumer"), "the decision to replace it")
    for other in others:
        other.disconnect()
    eventually(lambda: quiet.said("ready.") >= 2, "the next consumer")

    eventually(quiet.hears, "a hint to the next consumer")


def test_junk_in_the_queue_ends_nothing(quiet: Consumer) -> None:
    client = redis.Redis.from_url(quiet.live.url, password=quiet.live.password)
    for junk in (b"garbage", b"[]", b'{"body": 7}', b"\xff\x00"):
        client.lpush(quiet.queue, junk)
    eventually(lambda: quiet.said("ready.") > 1, "a consumer after the junk")
    eventually(quiet.hears, "a hint to the next consumer")
    for number, message in enumerate(wrong_messages(quiet.live, client)):
        client.lpush(quiet.queue, message)
        eventually(lambda: not client.llen(quiet.queue), f"message {number} to be read")
    client.close()
    news = quiet.said("news")
    eventually(lambda: quiet.hears() > news, "a hint after all of them")
    assert quiet.process.poll() is None
