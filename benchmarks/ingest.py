"""Points per second that are stored while the API answers: `python -m benchmarks.ingest`.

Eight workers and a server send what they measure, at a steady rate, through Redis; a process stores it as the controller does; and
`GET /jobs` of a list of jobs is asked again and again meanwhile. Then as much as can be: what waits is stored without a pause. Both
in the way of the platform and in the naive one, a row for each point with the indexes that charts need, in the same run."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import text

from backend.metrics import ingest
from backend.platform import Platform
from backend.settings import BackendSettings
from benchmarks import common, storing
from benchmarks.common import cpu, table
from benchmarks.storing import Place
from gradstream.process.order import plane_id
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records

WORKERS, JOBS = 8, 50
EVERY = 0.25
_TIMEOUT = 300.0
_NAMES = (
    "train/loss",
    "train/samples_per_second",
    "time/compute",
    "time/wait",
    "time/data",
    "time/send",
    "push/norm",
    "push/error",
)
_TABLE = """
    CREATE TABLE naive_points (
        job_id uuid, seq bigint, place int, name text, source text, rank int, step bigint, samples bigint, version bigint,
        time float8, value float8, PRIMARY KEY (job_id, seq, place));
    CREATE INDEX ON naive_points (job_id, name, seq)
"""
_INSERT = """
    INSERT INTO naive_points SELECT :job, * FROM unnest(
        CAST(:seqs AS bigint[]), CAST(:places AS int[]), CAST(:names AS text[]), CAST(:sources AS text[]), CAST(:ranks AS int[]),
        CAST(:steps AS bigint[]), CAST(:samples AS bigint[]), CAST(:versions AS bigint[]), CAST(:times AS float8[]),
        CAST(:values AS float8[]))
"""


@dataclass(frozen=True)
class Sender:
    """What so many points per second are, as batches of processes that report four times a second."""

    platform: Platform
    j: str
    rate: int

    def send(self, tick: int) -> int:
        """What is measured in one tick; the number of points."""
        each = max(1, round(self.rate * EVERY / WORKERS / len(_NAMES)))
        pipeline = self.platform.plane.pipeline(transaction=False)
        for rank in range(WORKERS):
            packed = records.pack([self._record(rank, tick * each + place) for place in range(each)])
            pipeline.xadd(keys.metrics(self.j), {"source": f"worker-{rank}.0", "batch": tick, "points": packed})
        pipeline.execute()
        return WORKERS * each * len(_NAMES)

    def _record(self, rank: int, step: int) -> tuple[Any, ...]:
        values = [part for place, name in enumerate(_NAMES) for part in (name, 1.0 / (1 + step) + 0.001234567 * place * rank)]
        return (time.time(), rank, step, 64 * step, 8 * step, *values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=20_000, help="points per second that are sent")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with storing.place() as at, storing.api(at) as (client, _):
        with at.platform.database.transaction() as session:
            session.execute(text(_TABLE))
        ids = [UUID(each) for each in storing.submit(client, JOBS)]
        idle = _asked(client, 3.0)
        ways = [("blocks", _store, ids[0]), ("a row per point", _store_naively, ids[1])]
        rows = [_way(at, client, way, job_id, name, args.rate, args.seconds) for name, way, job_id in ways]
    result = {**common.about(rate=args.rate, seconds=args.seconds, jobs=JOBS), "idle_p95_ms": idle, "rows": rows}
    print(json.dumps(result) if args.json else "\n".join(markdown(result)))


def markdown(result: dict[str, Any]) -> list[str]:
    header = ("Way", "Stored, points/s", "GET /jobs meanwhile, p95 ms", "CPU, us/point", "At most, points/s", "Bytes per point")
    rows = [
        (
            row["way"],
            f"{row['rate']:,.0f}",
            f"{row['p95_ms']:.1f}",
            f"{row['us']:.1f}",
            f"{row['most']:,.0f}",
            f"{row['bytes']:.0f}",
        )
        for row in result["rows"]
    ]
    return [*common.head(result), f"GET /jobs, nothing being stored: p95 {result['idle_p95_ms']:.1f} ms", "", *table(header, rows)]


def _way(
    at: Place,
    client: httpx.Client,
    way: Callable[[BackendSettings, UUID, Any], None],
    job_id: UUID,
    name: str,
    rate: int,
    seconds: float,
) -> dict[str, Any]:
    """First steadily, then all at once."""
    j = plane_id(job_id, 1)
    plane.create(at.platform.plane, j, password="benchmark")
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    sender = context.Process(target=_send, args=(at.settings, j, rate, seconds))
    storer = context.Process(target=way, args=(at.settings, job_id, stop))
    storer.start()
    sender.start()
    assert storer.pid is not None
    _begun(at, job_id, name)
    began, spent, stored = time.monotonic(), cpu([storer.pid]), _stored(at, job_id, name)
    p95 = _asked(client, max(1.0, seconds - 3.0))
    lasted, used, more = time.monotonic() - began, cpu([storer.pid]) - spent, _stored(at, job_id, name) - stored
    sender.join(_TIMEOUT)
    ticks = round(seconds / EVERY)
    most, sent = _most(at, j, rate, ticks)
    sent *= 2  # as much was sent steadily
    stop.set()
    storer.join(60)
    total = _stored(at, job_id, name)
    assert total == sent, f"{sent:,} points were sent and {total:,} are stored"
    return {
        "way": name,
        "rate": more / lasted,
        "p95_ms": p95,
        "us": 1e6 * used / max(1, more),
        "most": most,
        "bytes": _bytes(at, name) / total,
        "points": total,
    }


def _begun(at: Place, job_id: UUID, name: str) -> None:
    """Return when points are being stored: both processes have imported what they need. Raises: TimeoutError."""
    until = time.monotonic() + _TIMEOUT
    while not _stored(at, job_id, name):
        if time.monotonic() > until:
            raise TimeoutError("nothing was stored; did a process die?")
        time.sleep(0.02)


def _most(at: Place, j: str, rate: int, ticks: int) -> tuple[float, int]:
    """Points per second of what is sent as fast as can be, and how many that are."""
    _settle(at, j)
    sender, sent = Sender(at.platform, j, rate), 0
    began = time.monotonic()
    for tick in range(ticks, 2 * ticks):
        sent += sender.send(tick)
    _settle(at, j)
    return sent / (time.monotonic() - began), sent


def _settle(at: Place, j: str) -> None:
    """Return when nothing waits any more. Raises: TimeoutError."""
    until = time.monotonic() + _TIMEOUT
    while at.platform.plane.xlen(keys.metrics(j)):
        if time.monotonic() > until:
            raise TimeoutError("points wait in Redis and no process stores them; did it die?")
        time.sleep(0.02)


def _asked(client: httpx.Client, seconds: float) -> float:
    """The 95th percentile of `GET /jobs`, in milliseconds, asked twenty times a second."""
    times, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        client.get("/jobs").raise_for_status()
        times.append(time.perf_counter() - began)
        time.sleep(max(0.0, 0.05 - times[-1]))
    return 1e3 * statistics.quantiles(times, n=20)[-1]


def _stored(at: Place, job_id: UUID, name: str) -> int:
    of = "sum(count) FROM metric_series" if name == "blocks" else "count(*) FROM naive_points"
    with at.platform.database.transaction() as session:
        return int(session.scalar(text(f"SELECT {of} WHERE job_id = :job"), {"job": job_id}) or 0)


def _bytes(at: Place, name: str) -> int:
    tables = ("metric_batches", "metric_series", "metric_blocks", "metric_stores") if name == "blocks" else ("naive_points",)
    with at.platform.database.transaction() as session:
        return sum(int(session.scalar(text(f"SELECT pg_total_relation_size('{each}')")) or 0) for each in tables)


def _send(settings: BackendSettings, j: str, rate: int, seconds: float) -> None:
    sender, began = Sender(Platform.open(settings), j, rate), time.monotonic()
    for tick in range(round(seconds / EVERY)):
        time.sleep(max(0.0, began + tick * EVERY - time.monotonic()))
        sender.send(tick)


def _store(settings: BackendSettings, job_id: UUID, stop: Any) -> None:
    platform = Platform.open(settings, pool_size=2)
    while not stop.is_set():
        ingest.ingest(platform.database, platform.plane, job_id, 1)
        stop.wait(EVERY)


def _store_naively(settings: BackendSettings, job_id: UUID, stop: Any) -> None:
    """Batch by batch into rows; the rest as the platform does."""
    platform, j, seq = Platform.open(settings, pool_size=2), plane_id(job_id, 1), 0
    names = ("seqs", "places", "names", "sources", "ranks", "steps", "samples", "versions", "times", "values")
    while not stop.is_set():
        while waiting := plane.read_metrics(platform.plane, j, count=ingest.PORTION):
            rows = [
                (seq + number, place, point.name, source, *point[1:])
                for number, (_, source, _, points) in enumerate(waiting)
                for place, point in enumerate(points)
            ]
            seq += len(waiting)
            columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
            with platform.database.transaction() as session:
                session.execute(text(_INSERT), {"job": job_id, **columns})
            plane.trim_metrics(platform.plane, j, waiting[-1][0])
        stop.wait(EVERY)


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))
