"""How fast a vector travels through a Redis stream, one way, from one process to another: `python -m benchmarks.inline`.

Raw: parts of several sizes written and read by the product's own client, unchecked. The transport: what the product does, with
checksums, confirmed and freed in Redis. redis-py: pipelines of its own, 16 parts each. All take turns, so that a drift of the
machine hits all alike. CPU times are those of sender, Redis and receiver for one vector."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from gradstream.local.servers.redis import Redis, start_on_free_port
from gradstream.wire.redis.bulk import BulkConnection
from gradstream.wire.redis.client import BLOCK, connect
from gradstream.wire.redis.resp import Resp
from gradstream.wire.transport.inbox import Inbox
from gradstream.wire.transport.outbox import AHEAD, Outbox, Outgoing

PASSWORD = "benchmark"
KiB = 1024


@dataclass(frozen=True)
class Way:
    name: str
    chunk: int = 0
    """Bytes; 0: the way's own."""

    def __str__(self) -> str:
        return f"{self.name} {self.chunk // KiB} KiB" if self.chunk else self.name


def sender(pipe: Connection, url: str, size: int) -> None:
    """Sends one vector for each `(way, seq)` that comes through the pipe; answers with its checksum (or 0) and CPU seconds."""
    data = memoryview(bytearray(_pattern(size)))
    redis, box = Resp(url, password=PASSWORD, block=BLOCK), Outbox(Resp(url, password=PASSWORD, block=BLOCK))
    client = connect(url, password=PASSWORD)
    while (task := pipe.recv()) is not None:
        way, seq = task
        data[:8] = seq.to_bytes(8, "little")
        began, checksum = time.process_time(), 0
        if way.name == "transport":
            vector = Outgoing("transport", seq, data)
            for index in range(len(vector.sums)):
                box.put(vector, index)
            box.finish([vector])
            checksum = vector.checksum
        elif way.name == "raw":
            _send_raw(redis, data, way.chunk)
        else:
            _send_by_redis_py(client, data, way.chunk)
        pipe.send((checksum, time.process_time() - began))


def _send_raw(redis: Resp, data: memoryview, chunk: int) -> None:
    under_way, most = 0, max(2, AHEAD * 512 * KiB // chunk)
    for index, at in enumerate(range(0, len(data), chunk)):
        redis.post(("XADD", "raw", "*", "i", index, "b", data[at : at + chunk]))
        under_way += 1
        if under_way > most:
            redis.replies(1)
            under_way -= 1
    redis.replies(under_way)


def _send_by_redis_py(client: Any, data: memoryview, chunk: int) -> None:
    pipe = client.pipeline(transaction=False)
    for index, at in enumerate(range(0, len(data), chunk)):
        pipe.xadd("redis-py", {"i": index, "b": bytes(data[at : at + chunk])})
        if len(pipe) == 16:
            pipe.execute()
    pipe.execute()


class Receiver:
    def __init__(self, url: str, size: int) -> None:
        self._bulk, self._client = BulkConnection(url, password=PASSWORD, block=BLOCK), connect(url, password=PASSWORD)
        self._inbox = Inbox(BulkConnection(url, password=PASSWORD, block=BLOCK), size)
        self._inbox.watch("transport")
        self._size, self._own = size, memoryview(bytearray(size))

    def by_transport(self, seq: int, header: Callable[[], int]) -> memoryview:
        """As a shard does it: takes what comes, until the header is there."""
        while not self._has(seq):
            self._inbox.arm()
            self._inbox.take()
        found = self._inbox.vector("transport", seq, self._size, header())
        assert found is not None, "nothing was lost or damaged"
        return found

    def _has(self, seq: int) -> bool:
        vector = self._inbox._streams[b"transport"].arriving.get(seq)
        return vector is not None and vector.whole

    def raw(self, chunk: int) -> memoryview:
        last, left, counted = b"0", self._size, list[int]()

        def place(_: bytes, fields: dict[bytes, bytes], size: int) -> memoryview:
            counted.append(size)
            at = int(fields[b"i"]) * chunk
            return self._own[at : at + size]

        def taken(_: bytes, entry: bytes, __: dict[bytes, bytes]) -> None:
            nonlocal last, left
            last, left = entry, left - counted.pop()

        while left:
            most = max(2, AHEAD * 512 * KiB // chunk)
            self._bulk.post(("XREAD", "COUNT", most, "BLOCK", 1000, "STREAMS", "raw", last))
            self._bulk.entries(place, taken)
        return self._own

    def by_redis_py(self, chunk: int) -> memoryview:
        last, left = b"0", self._size
        while left:
            for _, entries in self._client.xread({"redis-py": last}, count=16, block=1000):
                for entry, fields in entries:
                    last, at, data = entry, int(fields[b"i"]) * chunk, fields[b"b"]
                    self._own[at : at + len(data)] = data
                    left -= len(data)
        return self._own


def _pattern(size: int) -> bytes:
    return (os.urandom(1 << 20) * (size // (1 << 20) + 1))[:size]


def measured(redis: Redis, size: int, ways: list[Way], rounds: int) -> list[dict[str, Any]]:
    """A row for each way: medians of one vector."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=sender, args=(theirs, redis.url, size), daemon=True)
    child.start()
    receiver, admin = Receiver(redis.url, size), Resp(redis.url, password=PASSWORD, block=BLOCK)
    server, seconds, cpu = psutil.Process(redis.child.pid), defaultdict[Way, list[float]](list), defaultdict[Way, list[Any]](list)
    for seq in range(1, rounds + 3):
        for way in ways:
            served, began, mine = sum(server.cpu_times()[:2]), time.perf_counter(), time.process_time()
            ours.send((way, seq))
            theirs_cpu: list[float] = []

            def header(told: list[float] = theirs_cpu) -> int:
                checksum, spent = ours.recv()
                told.append(spent)
                return int(checksum)

            if way.name == "transport":
                found = receiver.by_transport(seq, header)
            else:
                found = receiver.raw(way.chunk) if way.name == "raw" else receiver.by_redis_py(way.chunk)
                header()
            took, spent = time.perf_counter() - began, time.process_time() - mine
            assert int.from_bytes(found[:8], "little") == seq
            admin.ask(("UNLINK", "raw", "redis-py"))
            if seq > 2:
                seconds[way].append(took)
                cpu[way].append((*theirs_cpu, sum(server.cpu_times()[:2]) - served, spent))
    ours.send(None)
    child.join()
    rows = []
    for way in ways:
        sent, served, received = (1000 * statistics.mean(column) for column in zip(*cpu[way], strict=True))
        rows.append(
            {
                "socket": redis.url.partition(":")[0].replace("redis", "tcp"),
                "megabytes": size / 1e6,
                "way": str(way),
                "mb_per_s": size / 1e6 / statistics.median(seconds[way]),
                "slowest_ms": 1000 * max(seconds[way]),
                "sender_cpu_ms": sent,
                "redis_cpu_ms": served,
                "receiver_cpu_ms": received,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_183_240, 80_150_568], help="bytes")
    parser.add_argument("--chunks", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 2048, 4096], help="KiB")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if min(args.sizes) < 4096:
        parser.error("--sizes: bytes, at least 4096")
    ways = [Way("transport"), *(Way("raw", chunk * KiB) for chunk in args.chunks), Way("redis-py", 256 * KiB)]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD)
        for tcp in (False, True):
            redis = _started(folder, tcp)
            try:
                for size in args.sizes:
                    rows += measured(redis, size, ways, args.rounds)
            finally:
                redis.stop()
    print(json.dumps(rows, indent=1) if args.json else _table(rows))


def _started(folder: Path, tcp: bool) -> Redis:
    def make(port: int | None) -> Redis:
        return Redis("benchmark", folder / f"{port}", log=folder / "log", password_file=folder / "password", port=port)

    if tcp:
        return start_on_free_port(make)
    redis = make(None)
    redis.start()
    redis.wait()
    return redis


def _table(rows: list[dict[str, Any]]) -> str:
    best = defaultdict[tuple[str, float], float](float)
    for row in rows:
        if row["way"].startswith("raw"):
            place = (row["socket"], row["megabytes"])
            best[place] = max(best[place], row["mb_per_s"])
    lines = [
        "| socket | MB | way | MB/s | of the best raw | CPU ms: sender | Redis | receiver |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = row["mb_per_s"] / best[(row["socket"], row["megabytes"])]
        lines.append(
            f"| {row['socket']} | {row['megabytes']:.1f} | {row['way']} | {row['mb_per_s']:.0f} | {ratio:.2f} "
            f"| {row['sender_cpu_ms']:.1f} | {row['redis_cpu_ms']:.1f} | {row['receiver_cpu_ms']:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
