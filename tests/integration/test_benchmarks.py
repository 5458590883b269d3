"""Benchmarks of the gradient plane exchange for real, and their books close."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(module: str, *arguments: str) -> dict[str, object]:
    command = [sys.executable, "-m", f"benchmarks.{module}", "--json", "--rounds", "1", "--seconds", "0.05", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_workers_exchange_over_each_transport_and_each_push_is_applied() -> None:
    found = run("exchange", "--sizes", "100k", "--codecs", "raw", "int8/bf16", "--shards", "2", "--workers", "2")
    rows: list[dict[str, object]] = found["rows"]  # type: ignore[assignment]
    assert [row["transport"] for row in rows] == ["shm", "shm", "unix", "unix", "tcp", "tcp"]
    for row in rows:
        assert row["posted"] == row["applied"]
        assert row["posted"] == row["exchanges"] + 2 * 2, "each of the two workers warms up by two"  # type: ignore[operator]
        assert bool(row["bytes"]) == (row["transport"] != "shm"), "nothing of shared memory goes through Redis"


def test_two_hosts_are_joined_by_a_line_that_counts_bytes() -> None:
    found = run("hosts", "--rates", "1", "--delays", "2", "--sizes", "100k", "--codecs", "raw")
    if "absent" in found:
        pytest.skip(str(found["absent"]))
    [row] = found["rows"]  # type: ignore[misc]
    assert row["posted"] == row["applied"]
    assert row["line_bytes"] > row["vector_bytes"] == 2 * 100_000
    assert row["ms"]["low"] > 2, "each exchange crosses the line both ways"
