"""What one and twenty pages that follow the same job cost the server.

Reads are queries of the table of batches, which Postgres writes into its log for the time of this (its counters of scans come late
and together), and CPU seconds are those of the API's process. What is read while nobody follows is the ingester's, and is taken
off. Twenty times what one stream costs is the naive way."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import text

from benchmarks import common
from benchmarks.page.stage import SPAWN, TIMEOUT, Stage, process
from gradstream.wire.telemetry.reporter import EVERY

PAGES = 20
_READ = b"FROM metric_batches"
_SLACK = 1.3
"""Twenty may cost this many times the reads of one: a pass of the feed may fall in or out of the time that is counted."""
_SETTLE = 2.5


def measure(stage: Stage, seconds: float) -> dict[str, Any]:
    with stage.reporting(), _queries_logged(stage) as log:
        rows = [_with(stage, log, pages, seconds) for pages in (0, 1, PAGES)]
    idle, one, many = (row["reads"] for row in rows)
    for row in rows:
        row["per_tick"] = EVERY * (row["reads"] - idle)
    return {"seconds": seconds, "rows": rows, "good": 0 < many - idle <= _SLACK * (one - idle)}


def _with(stage: Stage, log: Path, pages: int, seconds: float) -> dict[str, Any]:
    address = urlsplit(stage.url)
    head = stage.client.get(f"/jobs/{stage.job_id}").json()["seq"]
    path = f"/api/v1/jobs/{stage.job_id}/stream?after={head}"
    begun = SPAWN.Event()
    with process(_follow, (address.hostname, address.port), path, stage.token, pages, begun):
        assert begun.wait(TIMEOUT), "the streams were not answered in time"
        time.sleep(_SETTLE)
        began, logged, cpu = time.monotonic(), log.stat().st_size, common.cpu([stage.api_pid])
        time.sleep(seconds)
        lasted, used = time.monotonic() - began, common.cpu([stage.api_pid]) - cpu
        with log.open("rb") as file:
            file.seek(logged)
            reads = file.read().count(_READ)
        return {"pages": pages, "reads": reads / lasted, "cpu": used / lasted}


@contextmanager
def _queries_logged(stage: Stage) -> Iterator[Path]:
    """The log of Postgres, to which every query goes as it begins: soon, and for as long as this lasts."""
    _set(stage, "ALTER SYSTEM SET log_statement = 'all'")
    try:
        yield stage.at.postgres.child.log
    finally:
        _set(stage, "ALTER SYSTEM RESET log_statement")


def _set(stage: Stage, statement: str) -> None:
    """Outside of any transaction, and told to the server."""
    with stage.at.platform.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(statement))
        connection.execute(text("SELECT pg_reload_conf()"))


def _follow(address: tuple[str, int], path: str, token: str, pages: int, begun: Any, stop: Any) -> None:
    """So many streams that are read as fast as they come. `begun` is set when all have been answered."""
    asked = f"GET {path} HTTP/1.1\r\nHost: {address[0]}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    streams = [socket.create_connection(address, timeout=10) for _ in range(pages)]
    for stream in streams:
        stream.sendall(asked)
    for stream in streams:
        stream.recv(1 << 20)
    begun.set()
    while not stop.is_set():
        ready, _, _ = select.select(streams, [], [], EVERY)
        for stream in ready:
            if not stream.recv(1 << 20):
                raise ConnectionError("the API ended a stream")
    for stream in streams:
        stream.close()


def markdown(found: dict[str, Any]) -> list[str]:
    one = found["rows"][1]["cpu"] - found["rows"][0]["cpu"]
    rows = [
        (
            str(row["pages"]),
            f"{row['reads']:.1f}",
            f"{row['per_tick']:.2f}",
            f"{row['cpu']:.1%}",
            f"{(row['cpu'] - found['rows'][0]['cpu']) / one:.1f}" if one > 0 else "-",
        )
        for row in found["rows"]
    ]
    said = f"For {found['seconds']:.0f} s each, workers reporting. Wanted: as many reads with {PAGES} pages as with one."
    if not found["good"]:
        said += " SLOW"
    header = ("pages", "reads/s", "reads for pages, per tick", "API, of a core", "times that of one page")
    return ["## Pages that follow one job", "", said, "", *common.table(header, rows)]
