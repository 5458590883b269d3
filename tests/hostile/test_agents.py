"""Nothing that arrives at an agent ends it: answers of the API that are none, and messages in its queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import redis

from gradstream.local.servers.redis import Redis
from tests.hostile.messages import hurt
from tests.hostile.runs import FIRST, runs
from tests.integration.agent.agent_process import SLEEPER, Node, registered_node
from tests.integration.agent.consumers import Consumer, send_hint
from tests.support import eventually

RUNS = runs(25, 500)


@pytest.fixture
def consumer(redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[Consumer]:
    consumer = Consumer(redis_server(), tmp_path)
    eventually(lambda: consumer.said("ready."), "the consumer")
    yield consumer
    consumer.kill()


@pytest.fixture
def node(redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[Node]:
    with registered_node(tmp_path, redis_server()) as node:
        yield node


def test_no_message_in_its_queue_ends_a_consumer(consumer: Consumer) -> None:
    client = redis.Redis.from_url(consumer.live.url, password=consumer.live.password)
    send_hint(consumer.live, "elsewhere")
    hint = json.loads(client.rpop("elsewhere"))  # type: ignore[arg-type]
    for seed in range(FIRST, FIRST + RUNS):
        client.lpush(consumer.queue, hurt(seed, hint))
        eventually(lambda: not client.llen(consumer.queue), f"the message of seed {seed} to be read")
    client.close()
    news = consumer.said("news")
    eventually(lambda: consumer.hears() > news, "a hint after all of them")
    assert consumer.process.poll() is None


@pytest.mark.more
def test_no_answer_to_a_heartbeat_ends_an_agent(node: Node) -> None:
    control = node.control
    control.heartbeat_every = 0.05
    order = node.run(SLEEPER)
    node.state(order, "running")
    answer = {"desired": [order.model_dump(mode="json")], "heartbeat_every": 0.05, "rotate": False}
    control.junk = [hurt(seed, answer) for seed in range(FIRST, FIRST + RUNS)]
    eventually(lambda: not control.junk, "all answers to be read", 60 + RUNS)
    control.desired = []
    honest = node.run(SLEEPER)
    node.state(honest, "running")
    assert psutil.pid_exists(node.pid)
    assert len(control.registrations) == 1
    control.desired = []
    node.hint()
    eventually(lambda: not any((node.folder / "work" / "processes").iterdir()), "an end of all that ran")
