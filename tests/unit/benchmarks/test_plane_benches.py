"""What the benchmarks of the data plane say about what they measured."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import common, exchange, hosts, scaling
from benchmarks.network import Network

HEAD = {
    "date": "2026-01-01",
    "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 8, "system": "Linux"},
    "versions": {"Python": "3.11"},
}


def times(median: float) -> dict[str, float]:
    return {"median": median, "low": median, "high": median}


# ---- what they share ------------------------------------------------------------------------------------------------------


def test_sizes_are_read_as_people_write_them() -> None:
    assert [common.megabytes(text) for text in ("10k", "2.2M", "400M", "1G", "17")] == [10**4, 2_200_000, 4 * 10**8, 10**9, 17]
    with pytest.raises(argparse.ArgumentTypeError, match="write 10k"):
        common.megabytes("many")


def test_the_spread_leaves_out_a_twentieth_at_each_end() -> None:
    assert common.spread([100.0, *range(1, 21), -5.0], 2.0) == {"median": 21.0, "low": 2.0, "high": 40.0}
    assert common.spread([3.0]) == times(3.0)


def test_the_cpu_time_of_another_process_is_read_and_a_dead_one_has_none() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        deadline = time.monotonic() + 60
        while common.cpu([busy.pid]) < 0.1:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        busy.kill()
        busy.wait()
    assert common.cpu([busy.pid]) == 0


# ---- exchange ----------------------------------------------------------------------------------------------------------------


def chosen(*arguments: str) -> list[exchange.Cell]:
    return exchange.chosen(exchange.parser().parse_args(list(arguments)))


def test_without_options_each_dimension_varies_alone() -> None:
    cells = chosen()
    assert cells == exchange.quick()
    assert len(set(cells)) == len(cells)
    assert exchange.cell("shm", exchange.WANTED_SIZE) in cells
    unlike = [((w.codec != "raw") + (w.shards > 1) + (w.workers > 1)) for _, w in cells]
    assert max(unlike) == 1


def test_options_are_combined() -> None:
    cells = chosen("--sizes", "10k", "1M", "--codecs", "raw", "int8/bf16", "--workers", "2")
    assert len(cells) == 2 * 2 * 3
    assert {(transport, work.shared) for transport, work in cells} == {("shm", True), ("unix", False), ("tcp", False)}
    spec = cells[-1][1].spec()
    assert (spec.codec.name, spec.pull_codec.name, spec.roles.worker.count) == ("int8", "bf16", 2)


def row(transport: str, megabytes: float, median: float, **more: Any) -> dict[str, Any]:
    made = {
        "transport": transport,
        "megabytes": megabytes,
        "codec": "raw",
        "shards": 1,
        "workers": 1,
        "ms": times(median),
        "over_memory": median / 10,
        "bytes": 0,
        "cpu_ms": {"workers": 1.0, "servers": 2.0, "redis": 3.0},
        "ledger_closes": True,
    }
    return {**made, **more}


def test_the_wanted_ratio_is_of_the_plain_exchange_of_80_megabytes() -> None:
    rows = [row("shm", 80.0, 40.0, codec="bf16"), row("tcp", 80.0, 30.0), row("shm", 80.0, 13.0)]
    found = exchange.wanted({"rows": rows})
    assert found is not None
    assert (found["got"], found["reached"]) == (1.3, True)
    assert exchange.wanted({"rows": rows[:2]}) is None


def test_a_ledger_that_does_not_close_is_shown(tmp_path: Path) -> None:
    limits = [{"limit": "memory", "megabytes": 80.0, "ms": times(10.0)}]
    result = {**HEAD, "rows": [row("shm", 80.0, 14.0), row("tcp", 80.0, 400.0, ledger_closes=False)], "limits": limits}
    text = exchange.markdown({**result, "to_reach": exchange.wanted(result)})
    assert text.count("| closes |") == text.count("| OPEN |") == 1
    assert text.endswith("1.40, wanted <= 1.35")
    exchange.draw(result, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_the_limits_are_really_measured(transport: str) -> None:
    assert all(seconds > 0 for seconds in exchange.memory(4000, 0.0) + exchange.bare_socket(transport, 4000, 0.0))


# ---- scaling -------------------------------------------------------------------------------------------------------------------


def scaled(rate: float, workers: int = 1, cost: float = 1.0, **more: Any) -> dict[str, Any]:
    none = dict.fromkeys(scaling.PARTS, 0.0)
    made = {
        "workers": workers,
        "shards": 1,
        "parameters": 1000 * workers,
        "updates_per_second": rate,
        "shard_busy": 0.2,
        "cores": {**none, "workers": 0.5},
        "cpu_ms_per_update": {**none, "redis": cost},
        "wait_ms": 3.0,
        "compute_ms": 1.0,
    }
    return {**made, **more}


def test_workers_bend_where_doubling_them_gains_little() -> None:
    rows = [scaled(100, 1), scaled(190, 2), scaled(200, 4, shard_busy=0.97)]
    assert scaling.bend("workers, shared memory", rows) == (
        "from 2 to 4 workers: 1.05 times the updates; shards are busy 97% of the time"
    )
    assert scaling.bend("workers, shared memory", rows[:2]) == "not up to 2 workers"


def test_parameters_bend_where_an_update_costs_twice() -> None:
    said = scaling.bend("parameters, shared memory", [scaled(100, 1), scaled(90, 10, cost=1.5), scaled(20, 100, cost=4.0)])
    assert said.startswith("at 100,000 parameters an update costs 4.0 times the CPU; most of what was added is in redis")


def test_what_does_not_wait_for_a_processor_waits_for_others() -> None:
    assert scaling.why(scaled(1)).endswith("workers wait 75% of the time")


# ---- hosts -----------------------------------------------------------------------------------------------------------------------


def test_the_fastest_codec_of_each_network_is_told_with_its_gain() -> None:
    def cell(codec: str, median: float, delay: float = 1.0) -> dict[str, Any]:
        return {"gbits": 1.0, "delay_ms": delay, "megabytes": 2.0, "codec": codec, "ms": times(median)}

    found = hosts.winners([cell("raw", 30), cell("bf16", 20), cell("int8", 25), cell("raw", 5, 20.0), cell("bf16", 6, 20.0)])
    assert [(each["delay_ms"], each["codec"], each["times_faster_than_raw"]) for each in found] == [
        (1, "bf16", 1.5),
        (20, "raw", 1),
    ]
    assert [str(Network(10, 20)), str(Network(0, 1))] == ["10 Gbit/s, 20 ms", "no limit, 1 ms"]


def test_a_machine_without_the_tools_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hosts.main([]) == 0
    assert capsys.readouterr().out.startswith("not measured: there is no `unshare` here; on Debian: apt install")
