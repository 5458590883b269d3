"""The agent's Celery worker alone, in a process of its own (it wants the main thread)."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path

import celery
import pytest
import redis

from gradstream import broker, tasknames
from gradstream.local.redis import Redis
from tests.support import PATIENCE, eventually

SCRIPT = """
import sys
from gradstream import jsonlog
from worker_agent import consumer
from worker_agent.consumer import Consumer
from worker_agent.settings import Settings
jsonlog.configure(sys.stderr, quiet=("celery.worker.strategy", "celery.app.trace"))
consumer._PAUSE = 0.01
Consumer(Settings(), lambda: print("news", flush=True), ping_every=0.2, silent_after=1).run()
"""
QUEUE = tasknames.node_queue("quiet")


class Quiet:
    def __init__(self, live: Redis, folder: Path, password_file: Path) -> None:
        self.live, self._log = live, folder / "log"
        settings = {
            "API_URL": "http://unused", "NODE_NAME": "quiet", "NODE_TOKEN_FILE": password_file, "WORK_DIR": folder,
            "LIVE_REDIS_URL": live.url, "LIVE_REDIS_PASSWORD_FILE": password_file,
        }  # fmt: skip
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT], stdout=log, stderr=log,
                env={**os.environ, **{f"GRADSTREAM_{name}": str(value) for name, value in settings.items()}},
            )  # fmt: skip

    def said(self, words: str) -> int:
        return self._log.read_text().count(words)

    def hint(self) -> None:
        app = celery.Celery(broker=broker.url(self.live.url, self.live.password))
        app.conf.update(broker.SETTINGS)
        app.send_task(tasknames.SYNC, queue=QUEUE)
        app.close()

    def wrong_messages(self, client: redis.Redis) -> Iterator[bytes]:
        """A hint, in which one member after the other is of a wrong type."""
        app = celery.Celery(broker=broker.url(self.live.url, self.live.password))
        app.conf.update(broker.SETTINGS)
        app.send_task(tasknames.SYNC, queue="elsewhere")
        app.close()
        packed: bytes = client.rpop("elsewhere")  # type: ignore[assignment]
        values = itertools.cycle([7, None, ["x"], {"x": 1}, "x"])
        for place in ((), ("headers",), ("properties",), ("properties", "delivery_info")):
            for name in reduce(dict.__getitem__, place, json.loads(packed)):
                message = json.loads(packed)
                reduce(dict.__getitem__, place, message)[name] = next(values)
                yield json.dumps(message).encode()

    def hears(self) -> int:
        """How often, after one more hint: one may go to a connection that is being closed."""
        self.hint()
        return self.said("news")


@pytest.fixture
def quiet(redis_server: Callable[..., Redis], tmp_path: Path, password_file: Path) -> Iterator[Quiet]:
    quiet = Quiet(redis_server(), tmp_path, password_file)
    eventually(lambda: quiet.said("ready."), "the consumer")
    yield quiet
    quiet.process.kill()
    quiet.process.wait()


def test_a_hint_is_news_and_a_signal_ends_it(quiet: Quiet) -> None:
    quiet.hint()
    eventually(lambda: quiet.said("news"), "the hint")
    quiet.process.send_signal(signal.SIGTERM)
    assert quiet.process.wait(PATIENCE) == 0


def test_a_consumer_that_hears_nothing_is_replaced(quiet: Quiet) -> None:
    """Others stand before it in the queue for messages: for the consumer that is the same as hearing nothing."""
    pool = redis.ConnectionPool.from_url(quiet.live.url, password=quiet.live.password)
    others = [pool.get_connection() for _ in range(40)]
    for other in others:
        other.send_command("BRPOP", QUEUE, 0)  # each takes one ping
    eventually(lambda: quiet.said("replacing the consumer"), "the decision to replace it")
    for other in others:
        other.disconnect()
    eventually(lambda: quiet.said("ready.") >= 2, "the next consumer")

    eventually(quiet.hears, "a hint to the next consumer")


def test_junk_in_the_queue_ends_nothing(quiet: Quiet) -> None:
    client = redis.Redis.from_url(quiet.live.url, password=quiet.live.password)
    for junk in (b"garbage", b"[]", b'{"body": 7}', b"\xff\x00"):
        client.lpush(QUEUE, junk)
    eventually(lambda: quiet.said("ready.") > 1, "a consumer after the junk")
    eventually(quiet.hears, "a hint to the next consumer")
    for number, message in enumerate(quiet.wrong_messages(client)):
        client.lpush(QUEUE, message)
        eventually(lambda: not client.llen(QUEUE), f"message {number} to be read")
    client.close()
    news = quiet.said("news")
    eventually(lambda: quiet.hears() > news, "a hint after all of them")
    assert quiet.process.poll() is None
