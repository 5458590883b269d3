"""Time that a worker takes for a message of a Kafka topic, against an entry of a Redis stream: `python -m benchmarks.topic`.

Both have 8 ids and a label. Each worker reads all and decodes its own, so the cost with 1 worker is that of an own message, and
with n it is (own + (n - 1) other) / n. It is processor time of the whole process, with the threads of the client. The broker runs
in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import redis

from benchmarks.common import PASSWORD, about, head, redis_on, table
from gradstream import data
from tests.kafka import KafkaBroker

BATCH, PARTITIONS, WORKERS = 256, 4, 16
IDS = [f"id_{field}" for field in range(8)]


def rows(count: int) -> list[dict[str, int]]:
    draw = np.random.default_rng(1)
    ids = draw.integers(0, 2**50, (count, len(IDS))).tolist()
    return [dict(zip(IDS, row, strict=True)) | {"click": number % 2} for number, row in enumerate(ids)]


def broker(count: int, pipe: Connection) -> None:
    """In a process of its own: fill a topic, say where it is, and stay."""
    made, share = KafkaBroker(), rows(count // PARTITIONS)
    made.create("clicks", PARTITIONS)
    for partition in range(PARTITIONS):
        made.add("clicks", partition, share)
    pipe.send(made.servers)
    pipe.recv()
    made.stop()


def kafka_cost(servers: str, workers: int, count: int) -> float:
    """Processor seconds of a worker for a message."""
    topic = data.kafka(servers, "clicks", label="click", ids=IDS, idle=0.0)
    began, reader, blocks = time.process_time(), topic.reader(BATCH, 0, workers), count // BATCH // workers
    for _ in range(blocks):
        while not reader.fetch(1):
            time.sleep(0.001)
        topic.decode(reader.take().messages)
    return (time.process_time() - began) / (blocks * BATCH * workers)


def redis_cost(url: str, workers: int, count: int) -> float:
    stream = data.redis_stream(url, "clicks", label="click", ids=IDS)
    began, reader, block = time.process_time(), stream.reader(), BATCH * workers
    for number in range(0, count // block * block, block):
        assert reader.fetch(number, block)
        stream.decode(reader.take(block)[:BATCH])
    return (time.process_time() - began) / (count // block * block)


def own_and_other(cost: Callable[[int], float], repeats: int) -> tuple[float, float]:
    """Microseconds for an own message and for another's, the least of several."""
    own, mixed = (min(cost(workers) for _ in range(repeats)) * 1e6 for workers in (1, WORKERS))
    return own, (mixed * WORKERS - own) / (WORKERS - 1)


def measure(count: int, repeats: int) -> dict[str, Any]:
    spawned = multiprocessing.get_context("spawn")
    pipe, theirs = spawned.Pipe()
    process = spawned.Process(target=broker, args=(count, theirs))
    process.start()
    servers = pipe.recv()
    of_kafka = own_and_other(lambda workers: kafka_cost(servers, workers, count), repeats)
    pipe.send("stop")
    process.join()
    with tempfile.TemporaryDirectory() as folder, redis_on("unix", Path(folder)) as server:
        url = f"unix://:{quote(PASSWORD)}@{server.url.removeprefix('unix://')}"
        add = redis.Redis.from_url(url).pipeline(transaction=False)
        for row in rows(count):
            add.xadd("clicks", row)  # type: ignore[arg-type]
        add.execute()
        of_redis = own_and_other(lambda workers: redis_cost(url, workers, count), repeats)
    return {**about(count=count, repeats=repeats), "kafka": of_kafka, "redis": of_redis}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=81_920, help="messages")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = measure(args.count, args.repeats)
    lines = [(name, *(f"{cost:.1f}" for cost in found[name])) for name in ("kafka", "redis")]
    ratio = ("ratio", *(f"{mine / theirs:.2f}" for mine, theirs in zip(found["kafka"], found["redis"], strict=True)))
    print(json.dumps(found) if args.json else "\n".join(head(found) + table(("source", "own, µs", "other's, µs"), [*lines, ratio])))
