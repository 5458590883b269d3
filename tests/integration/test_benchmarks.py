"""Benchmarks of the data plane exchange for real, and their books close."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(module: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", f"benchmarks.{module}", "--json", "--rounds", "1", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.more
def test_workers_exchange_over_each_transport_and_each_push_is_applied() -> None:
    sizes = ("--sizes", "100k", "--shards", "2", "--workers", "2")
    found = run("exchange", *sizes, "--codecs", "raw", "int8/bf16", "--seconds", "0.05")
    rows = found["rows"]
    assert [row["transport"] for row in rows] == ["shm", "shm", "unix", "unix", "tcp", "tcp"]
    for row in rows:
        assert row["posted"] == row["applied"]
        assert row["posted"] == row["exchanges"] + 2 * 2, "each of the two workers warms up by two"
        assert bool(row["bytes"]) == (row["transport"] != "shm"), "nothing of shared memory goes through Redis"


@pytest.mark.long
def test_two_hosts_are_joined_by_a_line_that_counts_bytes() -> None:
    found = run("hosts", "--rates", "1", "--delays", "2", "--sizes", "100k", "--codecs", "raw", "--seconds", "0.05")
    if "absent" in found:
        pytest.skip(str(found["absent"]))
    [row] = found["rows"]
    assert row["posted"] == row["applied"]
    assert row["line_bytes"] > row["vector_bytes"] == 2 * 100_000
    assert row["ms"]["low"] > 2, "each exchange crosses the line both ways"


@pytest.mark.long
def test_workers_of_two_hosts_train_in_step_without_servers_and_by_ddp() -> None:
    systems = ("no servers", "DistributedDataParallel")
    found = run("collective", "--items", "mlp", "--systems", *systems, "--settle", "0.5", "--seconds", "2")
    if "absent" in found:
        pytest.skip(str(found["absent"]))
    assert [row["system"] for row in found["rows"]] == list(systems)
    assert all(row["steps"]["median"] > 1 for row in found["rows"])
    assert found["ratios"]["mlp"] > 0.2, "a line that both share takes most of the time"


@pytest.mark.long
def test_one_way_the_transport_runs_beside_raw_redis_and_another_client() -> None:
    rows = run("inline", "--sizes", "1000000", "--chunks", "512")
    ways = ["transport", "raw 512 KiB", "redis-py 256 KiB"]
    assert [(row["socket"], row["way"]) for row in rows] == [(socket, way) for socket in ("unix", "tcp") for way in ways]
    assert all(row["mb_per_s"] > 0 for row in rows)
