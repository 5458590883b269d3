"""What an exchange costs (gather, push, apply, center back), as the model grows: `python -m benchmarks.exchange`.

Model size x transport x codec x shards x workers, by real servers and by workers that compute nothing (`benchmarks.idle`). Beside
them, in turn with them so that a drift of the machine hits all alike, what the machine allows: two copies and one addition in place
of the same size, and the same vector through a bare socket, added and sent back. Without options about two minutes: each dimension
varied alone. An option for a dimension measures all combinations of what the options name. The ledger must close in each."""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import common
from benchmarks.common import said, size_said, spread, table
from benchmarks.idle import Exchanged, Place, Work
from gradstream.process.zygote.zygote import Zygote

TRANSPORTS = ("shm", "unix", "tcp")
SIZES = (10_000, 100_000, 2_183_240, 8_000_000, 80_000_000)
LARGE = 400_000_000
CODECS = ("bf16/bf16", "int8/bf16", "topk/bf16", "onebit/bf16")
WANTED, WANTED_SIZE = 1.35, 80_000_000
"""Of an exchange through shared memory, to two copies and an addition."""
Cell = tuple[str, Work]
"""Transport and work."""


def quick() -> list[Cell]:
    """Each dimension varied alone."""
    cells = [cell(transport, nbytes) for nbytes in SIZES for transport in TRANSPORTS]
    cells += [cell("tcp", nbytes, codec) for nbytes in SIZES[2:4] for codec in CODECS]
    cells += [cell(transport, SIZES[3], shards=shards) for shards in (2, 4) for transport in ("shm", "tcp")]
    return cells + [cell(transport, SIZES[2], workers=workers) for workers in (2, 4) for transport in ("shm", "tcp")]


def cell(transport: str, nbytes: int, codec: str = "raw", shards: int = 1, workers: int = 1, seconds: float = 0.25) -> Cell:
    return transport, Work(nbytes // 4 * 4, codec, shards, workers, shared=transport == "shm", seconds=seconds)


def chosen(args: argparse.Namespace) -> list[Cell]:
    given = (args.transports, args.sizes, args.codecs, args.shards, args.workers)
    if args.all:
        given = (TRANSPORTS, (*SIZES, LARGE), ("raw", *CODECS), (1, 2, 4), (1, 2, 4))
    elif not any(given):
        return quick()
    every: list[Sequence[Any]] = [a or b for a, b in zip(given, (TRANSPORTS, SIZES, ("raw",), (1,), (1,)), strict=True)]
    return [cell(*values, seconds=args.seconds) for values in product(*every)]  # type: ignore[misc]


# ---- limits ----------------------------------------------------------------------------------------------------------------


def memory(nbytes: int, seconds: float) -> list[float]:
    """Seconds of two copies and one addition in place."""
    a, b, c = (torch.ones(nbytes // 4) for _ in range(3))
    arrays = [x.numpy() for x in (a, b, c)]  # NumPy's copy is memcpy, which is a little faster than torch's
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < until:
        began = time.perf_counter()
        np.copyto(arrays[1], arrays[0])
        c.add_(b, alpha=-1e-3)
        np.copyto(arrays[0], arrays[2])
        times.append(time.perf_counter() - began)
    return times[2:]


def bare_socket(transport: str, nbytes: int, seconds: float) -> list[float]:
    """Seconds for a vector to another process, an addition in place, and the sum back."""
    x = torch.ones(nbytes // 4)
    view = memoryview(x.numpy()).cast("B")  # type: ignore[arg-type]
    with _adder(transport, nbytes) as connection:
        times: list[float] = []
        until = time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < until:
            began = time.perf_counter()
            connection.sendall(view)
            fill(connection, view)
            times.append(time.perf_counter() - began)
    return times[2:]


@contextmanager
def _adder(transport: str, nbytes: int) -> Iterator[socket.socket]:
    """A connection to a process that does what a server does at least. It ends with the connection."""
    local, remote = socket.socketpair() if transport == "unix" else _tcp_pair()
    child = os.fork()
    if not child:
        try:
            local.close()
            torch.set_num_threads(1)
            taken, center = torch.empty(nbytes // 4), torch.ones(nbytes // 4)
            views = [memoryview(x.numpy()).cast("B") for x in (taken, center)]  # type: ignore[arg-type]
            while fill(remote, views[0]):
                center.add_(taken, alpha=-1e-3)
                remote.sendall(views[1])
        finally:
            os._exit(0)
    remote.close()
    try:
        yield local
    finally:
        local.close()
        os.waitpid(child, 0)


def _tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        local = socket.create_connection(listening.getsockname())
        remote, _ = listening.accept()
    for end in (local, remote):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return local, remote


def fill(connection: socket.socket, view: memoryview) -> bool:
    """False: the other side has ended."""
    at = 0
    while at < len(view):
        got = connection.recv_into(view[at:])
        if not got:
            return False
        at += got
    return True


# ---- measuring ---------------------------------------------------------------------------------------------------------------


def measure(cells: list[Cell], rounds: int, places: dict[str, Place]) -> dict[str, Any]:
    """Rows and limits, of all rounds together."""
    found: dict[Cell, list[Exchanged]] = {each: [] for each in cells}
    sizes = sorted({work.nbytes for _, work in cells})
    limits: dict[tuple[str, int], list[float]] = {}
    for number in range(1, rounds + 1):
        for nbytes in sizes:
            mine = [each for each in cells if each[1].nbytes == nbytes]
            limits.setdefault(("memory", nbytes), []).extend(memory(nbytes, mine[0][1].seconds))
            for way in sorted({transport for transport, _ in mine} - {"shm"}):
                limits.setdefault((way, nbytes), []).extend(bare_socket(way, nbytes, mine[0][1].seconds))
            for transport, work in mine:
                found[(transport, work)].append(places[transport].exchange(work))
                print(f"round {number}: {_named(transport, work)}", file=sys.stderr)
    bare = [{"limit": way, "megabytes": nbytes / 1e6, "ms": spread(times, 1e3)} for (way, nbytes), times in limits.items()]
    return {"rows": [_row(each, found[each], limits) for each in cells], "limits": bare}


def _named(transport: str, work: Work) -> str:
    return f"{size_said(work.nbytes)} {transport} {work.codec}, {work.shards} shards, {work.workers} workers"


def _row(of: Cell, found: list[Exchanged], limits: dict[tuple[str, int], list[float]]) -> dict[str, Any]:
    transport, work = of
    exchanges = sum(len(each.times) for each in found)
    times = spread([seconds for each in found for seconds in each.times], 1e3)
    over = {
        f"over_{'socket' if way != 'memory' else way}": times["median"] / spread(limits[way, work.nbytes], 1e3)["median"]
        for way in ("memory", transport)
        if (way, work.nbytes) in limits
    }
    return {
        "transport": transport,
        "megabytes": work.nbytes / 1e6,
        "codec": work.codec,
        "shards": work.shards,
        "workers": work.workers,
        "exchanges": exchanges,
        "ms": times,
        **over,
        "exchanges_per_second": exchanges / sum(each.seconds for each in found),
        "bytes": sum(each.sent + each.received for each in found) / exchanges,
        "cpu_ms": {who: 1e3 * sum(each.cpu[who] for each in found) / exchanges for who in found[0].cpu},
        "posted": sum(each.posted for each in found),
        "applied": sum(each.applied for each in found),
        "ledger_closes": all(each.closes for each in found),
    }


def wanted(result: dict[str, Any]) -> dict[str, Any] | None:
    """The ratio that is asked for, if it was measured."""
    for row in result["rows"]:
        plain = (row["codec"], row["shards"], row["workers"]) == ("raw", 1, 1)
        if row["transport"] == "shm" and plain and math.isclose(row["megabytes"], WANTED_SIZE / 1e6):
            got = row["over_memory"]
            work = "exchange of 80 MB over shm against two memcpy + one in-place add of the same size"
            return {"work": work, "wanted_at_most": WANTED, "got": got, "reached": got <= WANTED}
    return None


def markdown(result: dict[str, Any]) -> str:
    limits = [[size_said(1e6 * row["megabytes"]), _LIMITS[row["limit"]], said(row["ms"], 3)] for row in result["limits"]]
    rows = [
        [
            size_said(1e6 * row["megabytes"]),
            row["transport"],
            row["codec"],
            str(row["shards"]),
            str(row["workers"]),
            said(row["ms"], 3),
            *(f"{row[name]:.2f}" if name in row else "" for name in ("over_memory", "over_socket")),
            size_said(row["bytes"]),
            " / ".join(f"{value:.2f}" for value in row["cpu_ms"].values()),
            "closes" if row["ledger_closes"] else "OPEN",
        ]
        for row in result["rows"]
    ]
    header = [
        "parameters",
        "transport",
        "codec",
        "shards",
        "workers",
        "ms, median (9 of 10)",
        "over memory",
        "over socket",
        "through Redis",
        "CPU ms: worker / servers / Redis",
        "ledger",
    ]
    goal = result["to_reach"]
    ending = ["", f"{goal['work']}: {goal['got']:.2f}, wanted <= {goal['wanted_at_most']}"] if goal else []
    return "\n".join(
        [*common.head(result), *table(["bytes", "limit", "ms, median (9 of 10)"], limits), "", *table(header, rows), *ending]
    )


_LIMITS = {"memory": "two copies, one addition in place", "unix": "bare unix socket and back", "tcp": "bare TCP socket and back"}


def draw(result: dict[str, Any], path: Path) -> None:
    """Where which transport costs how much: time against size, and how often the time that memory takes."""
    from benchmarks.report import plots

    plain = [row for row in result["rows"] if (row["codec"], row["shards"], row["workers"]) == ("raw", 1, 1)]
    lines = {_LIMITS[way]: _points(result["limits"], "limit", way) for way in _LIMITS}
    lines = {name: _points(plain, "transport", name) for name in TRANSPORTS} | lines
    figure, (left, right) = plots.panels(2, height=3.6)
    plots.lines(left, lines)
    base = lines[_LIMITS["memory"]]
    plots.lines(right, {name: {x: y / base[x] for x, y in points.items() if x in base} for name, points in lines.items()})
    for axis, label in ((left, "milliseconds"), (right, "times two copies and an addition")):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("megabytes of parameters")
        axis.set_ylabel(label)
    right.legend(loc="upper right")
    plots.save(figure, path)


def _points(rows: list[dict[str, Any]], key: str, value: str) -> dict[float, float]:
    return {row["megabytes"]: row["ms"]["median"] for row in rows if row[key] == value}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.exchange", description=__doc__)
    made.add_argument("--sizes", type=common.megabytes, nargs="+", metavar="BYTES", help="of the parameters: 10k 2.2M 400M")
    made.add_argument("--transports", nargs="+", choices=TRANSPORTS)
    made.add_argument("--codecs", nargs="+", metavar="PUSH[/PULL]", help="raw, bf16, int8/bf16, ...")
    made.add_argument("--shards", type=int, nargs="+")
    made.add_argument("--workers", type=int, nargs="+")
    made.add_argument("--quick", action="store_true", help="what is measured without options")
    made.add_argument("--all", action="store_true", help="all combinations, 400 MB among them; hours")
    made.add_argument("--seconds", type=float, default=0.5, help="of each cell in each round; at least 3 exchanges are made")
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--plot", type=Path, metavar="FILE.png", help="the crossover chart: docs/benchmarks/exchange.png")
    made.add_argument("--json", action="store_true")
    return made


def run(args: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    cells = quick() if args.quick else chosen(args)
    most = max(work.nbytes * (work.workers + 1) for _, work in cells)
    zygote = Zygote()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gs-exchange-")))
        stack.callback(zygote.close)
        zygote.start()
        servers = {name: stack.enter_context(common.redis_on(name, folder, 10**9 + 3 * most)) for name in ("unix", "tcp")}
        places = {name: Place(servers["unix" if name == "shm" else name], folder, zygote) for name in TRANSPORTS}
        result = common.about(rounds=args.rounds, seconds=cells[0][1].seconds) | measure(cells, args.rounds, places)
    return result | {"to_reach": wanted(result)}


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    result = run(args)
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    if args.plot:
        draw(result, args.plot)
    return 0 if all(row["ledger_closes"] for row in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(common.interruptible(main))
