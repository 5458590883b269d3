"""What one and twenty pages that follow the same job cost the server.

Reads are scans of the table of batches, as Postgres counts them, and CPU seconds are those of the API's process. What is read
while nobody follows is the ingester's, and is taken off. Twenty times what one stream costs is the naive way."""

from __future__ import annotations

import select
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import text

from benchmarks import common
from benchmarks.page.stage import Stage, process
from gradstream.wire.reporter import EVERY

PAGES = 20
_TABLE = "metric_batches"
_SLACK = 1.3
"""Twenty may cost this many times the reads of one: Postgres counts about once a second."""
_SETTLE = 2.5


def measure(stage: Stage, seconds: float) -> dict[str, Any]:
    with stage.reporting():
        rows = [_with(stage, pages, seconds) for pages in (0, 1, PAGES)]
    idle, one, many = (row["reads"] for row in rows)
    for row in rows:
        row["per_tick"] = EVERY * (row["reads"] - idle)
    return {"seconds": seconds, "rows": rows, "good": 0 < many - idle <= _SLACK * (one - idle)}


def _with(stage: Stage, pages: int, seconds: float) -> dict[str, Any]:
    address = urlsplit(stage.url)
    head = stage.client.get(f"/jobs/{stage.job_id}").json()["seq"]
    path = f"/api/v1/jobs/{stage.job_id}/stream?after={head}"
    with process(_follow, (address.hostname, address.port), path, stage.token, pages):
        time.sleep(_SETTLE)
        began, reads, cpu = time.monotonic(), _scans(stage), common.cpu([stage.api_pid])
        time.sleep(seconds)
        lasted = time.monotonic() - began
        return {
            "pages": pages, "reads": (_scans(stage) - reads) / lasted, "cpu": (common.cpu([stage.api_pid]) - cpu) / lasted,
        }  # fmt: skip


def _scans(stage: Stage) -> int:
    statement = text("SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = :name")
    with stage.at.platform.database.transaction() as session:
        return int(session.scalar(statement, {"name": _TABLE}) or 0)


def _follow(address: tuple[str, int], path: str, token: str, pages: int, stop: Any) -> None:
    """So many streams that are read as fast as they come."""
    asked = f"GET {path} HTTP/1.1\r\nHost: {address[0]}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    streams = [socket.create_connection(address, timeout=10) for _ in range(pages)]
    for stream in streams:
        stream.sendall(asked)
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
        (str(row["pages"]), f"{row['reads']:.1f}", f"{row['per_tick']:.2f}", f"{row['cpu']:.1%}",
         f"{(row['cpu'] - found['rows'][0]['cpu']) / one:.1f}" if one > 0 else "-")
        for row in found["rows"]
    ]  # fmt: skip
    said = f"For {found['seconds']:.0f} s each, workers reporting. Wanted: as many reads with {PAGES} pages as with one."
    header = ("pages", "reads/s", "reads for pages, per tick", "API, of a core", "times that of one page")
    return ["## Pages that follow one job", "", said, "", *common.table(header, rows)]
