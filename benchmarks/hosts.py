"""What an exchange costs between two hosts, and which codec wins: `python -m benchmarks.hosts`.

The hosts are two network namespaces (`benchmarks.network`): servers and Redis in one, workers in the other. It needs root, or a
kernel that lets users make namespaces, and says what it could not do."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks import common
from benchmarks.common import cpu, said, size_said, spread, table
from benchmarks.exchange import fill
from benchmarks.idle import Exchanged, Place, Work
from benchmarks.network import SERVER, Forbidden, Hosts, Network, delayed, enter
from gradstream.process.zygote.zygote import Zygote
from gradstream.wire.redis.client import connect

CODECS = ("raw", "bf16", "bf16/bf16", "int8/bf16", "topk/bf16", "onebit/bf16")
SIZES = (2_183_240, 20_000_000)


def bare(hosts: Hosts, network: Network, nbytes: int, rounds: int = 5) -> list[float]:
    """Seconds for a vector to the other host, an addition there, and the sum back, without Redis."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server((SERVER, 0)))
        port = listening.getsockname()[1]
        if network.delay_ms and not hosts.has_netem:
            port, _ = stack.enter_context(delayed(port, network.delay_ms))
        told, tell = os.pipe()
        child = os.fork()
        if not child:
            try:
                with hosts.workers():
                    os.write(tell, json.dumps(_round_trips(port, nbytes, rounds)).encode())
            finally:
                os._exit(0)
        os.close(tell)
        listening.settimeout(20)
        connection = stack.enter_context(listening.accept()[0])
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        taken, center = torch.empty(nbytes // 4), torch.ones(nbytes // 4)
        while fill(connection, _view(taken)):
            center.add_(taken, alpha=-1e-3)
            connection.sendall(_view(center))
        os.waitpid(child, 0)
        with os.fdopen(told, "rb") as answer:
            times: list[float] = json.loads(answer.read())
    return times[1:]


def _round_trips(port: int, nbytes: int, rounds: int) -> list[float]:
    x, times = torch.ones(nbytes // 4), []
    with socket.create_connection((SERVER, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(rounds + 1):
            began = time.perf_counter()
            connection.sendall(_view(x))
            fill(connection, _view(x))
            times.append(time.perf_counter() - began)
    return times


def _view(x: torch.Tensor) -> memoryview:
    return memoryview(x.numpy()).cast("B")  # type: ignore[arg-type]


def crossed(hosts: Hosts, network: Network, work: Work, setting: Setting) -> Exchanged:
    """An attempt over the line. Meters: bytes on the line, CPU seconds of the proxy."""
    port = setting.port
    with ExitStack() as stack:
        pids = []
        if network.delay_ms and not hosts.has_netem:
            port, pid = stack.enter_context(delayed(port, network.delay_ms))
            pids.append(pid)
        meters = {"line": hosts.bytes, "proxy": lambda: cpu(pids)}
        return Place(setting.redis, setting.folder, *setting.zygotes, f"redis://{SERVER}:{port}", meters).exchange(work)


class Setting:
    """Redis and a zygote on the servers' host, and a zygote on the workers'."""

    def __init__(self, hosts: Hosts, stack: ExitStack, most: int) -> None:
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gs-hosts-")))
        self.zygotes = (Zygote(), Zygote())
        for zygote in self.zygotes:
            stack.callback(zygote.close)
        self.zygotes[0].start()
        with hosts.workers():
            self.zygotes[1].start()
        self.redis = stack.enter_context(common.redis_on("tcp", self.folder, 10**9 + 4 * most))
        self.port = int(self.redis.url.rpartition(":")[2])
        admin = connect(self.redis.url, password=self.redis.password)
        admin.config_set("bind", f"127.0.0.1 {SERVER}")
        admin.close()


def measure(args: argparse.Namespace) -> dict[str, Any]:
    networks = [Network(rate, delay) for rate in args.rates for delay in args.delays]
    works = [
        Work(size // 4 * 4, codec, 1, args.workers, seconds=args.seconds, least=2) for size in args.sizes for codec in args.codecs
    ]
    found: dict[tuple[Network, Work], list[Exchanged]] = {}
    limits: dict[tuple[Network, int], list[float]] = {}
    with ExitStack() as stack:
        hosts = Hosts()
        stack.callback(hosts.close)
        setting = Setting(hosts, stack, max(work.nbytes for work in works) * args.workers)
        for number in range(1, args.rounds + 1):
            for network in networks:
                hosts.become(network)
                for size in sorted({work.nbytes for work in works}):
                    limits.setdefault((network, size), []).extend(bare(hosts, network, size))
                for work in works:
                    found.setdefault((network, work), []).append(crossed(hosts, network, work, setting))
                    print(f"round {number}: {network}: {size_said(work.nbytes)} {work.codec}", file=sys.stderr)
        rows = [_row(network, work, each) for (network, work), each in found.items()]
        bare_rows = [
            {**asdict(network), "megabytes": size / 1e6, "ms": spread(times, 1e3)} for (network, size), times in limits.items()
        ]
        return {"rows": rows, "bare": bare_rows, "winners": winners(rows), "cannot": hosts.cannot(networks)}


def _row(network: Network, work: Work, found: list[Exchanged]) -> dict[str, Any]:
    times = [seconds for each in found for seconds in each.times]
    return {
        **asdict(network),
        "megabytes": work.nbytes / 1e6,
        "codec": work.codec,
        "workers": work.workers,
        "exchanges": len(times),
        "ms": spread(times, 1e3),
        "vector_bytes": sum(each.sent + each.received for each in found) / len(times),
        "line_bytes": sum(each.metered["line"] for each in found) / len(times),
        "cpu_ms": {who: 1e3 * sum(each.cpu[who] for each in found) / len(times) for who in found[0].cpu},
        "proxy_cpu_ms": 1e3 * sum(each.metered["proxy"] for each in found) / len(times),
        "posted": sum(each.posted for each in found),
        "applied": sum(each.applied for each in found),
        "ledger_closes": all(each.closes for each in found),
    }


def winners(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fastest codec of each network and size."""
    cells: dict[tuple[float, float, float], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["gbits"], row["delay_ms"], row["megabytes"]), []).append(row)
    found = []
    for (gbits, delay, size), each in cells.items():
        best = min(each, key=lambda row: row["ms"]["median"])
        raw = next((row for row in each if row["codec"] == "raw"), best)
        found.append(
            {
                "gbits": gbits,
                "delay_ms": delay,
                "megabytes": size,
                "codec": best["codec"],
                "times_faster_than_raw": raw["ms"]["median"] / best["ms"]["median"],
            }
        )
    return found


def markdown(result: dict[str, Any]) -> str:
    limits = {(row["gbits"], row["delay_ms"], row["megabytes"]): row["ms"] for row in result["bare"]}
    rows = [
        [
            str(Network(row["gbits"], row["delay_ms"])),
            size_said(1e6 * row["megabytes"]),
            row["codec"],
            said(row["ms"]),
            said(limits[row["gbits"], row["delay_ms"], row["megabytes"]]),
            size_said(row["vector_bytes"]),
            size_said(row["line_bytes"]),
            " / ".join(f"{value:.1f}" for value in (*row["cpu_ms"].values(), row["proxy_cpu_ms"])),
            "closes" if row["ledger_closes"] else "OPEN",
        ]
        for row in result["rows"]
    ]
    header = [
        "network",
        "parameters",
        "codec",
        "ms, median (9 of 10)",
        "bare socket there and back",
        "vectors",
        "on the line",
        "CPU ms: worker / servers / Redis / proxy",
        "ledger",
    ]
    best = [
        [
            str(Network(row["gbits"], row["delay_ms"])),
            size_said(1e6 * row["megabytes"]),
            row["codec"],
            f"{row['times_faster_than_raw']:.2f}",
        ]
        for row in result["winners"]
    ]
    return "\n".join(
        [
            *common.head(result),
            *(f"NB: {what}.\n" for what in result["cannot"]),
            *table(header, rows),
            "",
            *table(["network", "parameters", "fastest codec", "times faster than raw"], best),
        ]
    )


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    made.add_argument("--rates", type=float, nargs="+", default=[1, 10], help="Gbit/s each way; 0: no limit")
    made.add_argument("--delays", type=float, nargs="+", default=[1, 20], help="milliseconds added to a round trip")
    made.add_argument("--sizes", type=common.megabytes, nargs="+", default=list(SIZES), metavar="BYTES")
    made.add_argument("--codecs", nargs="+", default=list(CODECS), metavar="PUSH[/PULL]")
    made.add_argument("--workers", type=int, default=1)
    made.add_argument("--rounds", type=int, default=2)
    made.add_argument("--seconds", type=float, default=0.5, help="of each cell in each round; at least 2 exchanges are made")
    made.add_argument("--json", action="store_true")
    made.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return made


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    torch.set_num_threads(1)
    try:
        if not args.inside:
            enter("benchmarks.hosts", sys.argv[1:] if arguments is None else arguments)
        result = common.about(rounds=args.rounds, seconds=args.seconds) | measure(args)
    except Forbidden as error:
        print(json.dumps({"absent": str(error)}) if args.json else f"not measured: {error}")
        return 0
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    return 0 if all(row["ledger_closes"] for row in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(common.interruptible(main))
