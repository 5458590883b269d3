"""Fills a folder with clicks, a file every few seconds: `python fill.py FOLDER`. Ends with Ctrl-C, or after `--files`.

With `--redis FILE`, a file that holds the URL of a Redis, clicks go to the stream `clicks` there instead. With `--kafka SERVERS`,
they go to the topic `clicks`; `--settings FILE` has the client's settings, such as an account, NAME=VALUE in each line."""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pyarrow
import redis
from clicklog import FIELDS, clicks
from numpy.typing import NDArray
from pyarrow import parquet
from topic import FilledTopic

HELD_OUT = 20_000
STREAM = "clicks"


def columns(first: int, count: int) -> dict[str, NDArray[np.int64]]:
    """Examples of the log."""
    ids, clicked = clicks(np.arange(first, first + count))
    return {f"id_{field}": ids[:, field] for field in range(FIELDS)} | {"click": clicked.astype(np.int64)}


def rows(first: int, count: int) -> list[dict[str, int]]:
    """The same, one by one."""
    made = columns(first, count)
    return [dict(zip(made, values, strict=True)) for values in zip(*(column.tolist() for column in made.values()), strict=True)]


def write(file: Path, first: int, count: int) -> None:
    """Write examples, and behind them the marker that the file is complete."""
    parquet.write_table(pyarrow.table(columns(first, count)), file)
    Path(f"{file}.done").touch()


def add(client: redis.Redis, first: int, count: int) -> None:
    """Add an entry to the stream for each example."""
    pipe = client.pipeline(transaction=False)
    for row in rows(first, count):
        pipe.xadd(STREAM, row)
    pipe.execute()


def fill(
    folder: Path,
    examples: int,
    every: float,
    files: int | None,
    client: redis.Redis | None = None,
    topic: FilledTopic | None = None,
) -> None:
    (folder / "held-out").mkdir(parents=True, exist_ok=True)
    write(folder / "held-out" / "clicks.parquet", 0, HELD_OUT)
    if topic is not None:
        there = topic.count() // examples
    elif client is not None:
        there = client.xinfo_stream(STREAM)["entries-added"] // examples if client.exists(STREAM) else 0
    else:
        there = len(list(folder.glob("*.done")))  # of an earlier run
    for number in itertools.count(there) if files is None else range(there, files):
        first = HELD_OUT + number * examples
        if topic is not None:
            topic.add(rows(first, examples))
        elif client is not None:
            add(client, first, examples)
        else:
            write(folder / f"clicks-{number:06}.parquet", first, examples)
        time.sleep(every)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", type=int, default=20_000, help="of one file")
    parser.add_argument("--every", type=float, default=5, help="seconds between two files")
    parser.add_argument("--files", type=int, help="how many; default: no end")
    parser.add_argument("--redis", type=Path, help="a file with the URL of a Redis, whose stream is filled instead")
    parser.add_argument("--kafka", metavar="SERVERS", help="addresses of Kafka brokers, whose topic is filled instead")
    parser.add_argument("--settings", type=Path, help="a file with settings of the Kafka client")
    given = parser.parse_args()
    to = redis.Redis.from_url(given.redis.read_text().strip()) if given.redis else None
    filled = FilledTopic(given.kafka, STREAM, given.settings) if given.kafka else None
    try:
        fill(given.folder, given.examples, given.every, given.files, to, filled)
    except redis.RedisError as error:
        raise SystemExit(f"the Redis whose URL stands in {given.redis} does not take the clicks: {error}") from error
