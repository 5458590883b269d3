"""How fast two workers on two hosts train in step: `python -m benchmarks.collective`.

A job without servers (gloo) beside DistributedDataParallel, which uses gloo, too, and beside the same job with one server. All have
the same models, data and mini-batches. The hosts are two network namespaces (`benchmarks.network`) with one worker each."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import common
from benchmarks.common import said, spread, table
from benchmarks.network import SERVER, Forbidden, Hosts, Network, enter
from benchmarks.peers import counter, ddp, ours, work
from benchmarks.peers.counter import Count
from benchmarks.peers.system import Told
from gradstream.local.servers.redis import Redis
from gradstream.local.training.attempt import LocalAttempt
from gradstream.process.order import ProcessOrder
from gradstream.process.shared import SharedFolders
from gradstream.process.zygote.launch import die_with_parent
from gradstream.process.zygote.zygote import Event, Zygote
from gradstream.wire.redis.client import connect

SERVERS: dict[str, dict[str, Any]] = {"no servers": {"count": 0, "collective": "gloo"}, "one server": {"count": 1}}
DDP = "DistributedDataParallel"
SYSTEMS = (*SERVERS, DDP)
INTERFACES = ("gs-server", "gs-worker")
EXAMPLES = 8192
"""Random ones: only the speed counts."""
STARTS_WITHIN = ENDS_WITHIN = 60.0
LEAST_RATIO = 1.0
"""Ratio of a job without servers to DistributedDataParallel."""


class ZygoteOfBoth(Zygote):
    """Worker 1 is on the workers' host, all others on the servers'."""

    def __init__(self, here: Zygote, there: Zygote) -> None:
        super().__init__()
        self._here, self._there = here, there
        self.ready = True

    @property
    def alive(self) -> bool:
        return self._here.alive and self._there.alive

    def fork(self, order: ProcessOrder, folder: Path, **more: Any) -> None:
        (self._there if order.label == "worker-1" else self._here).fork(order, folder, **more)

    def signal(self, id: Any, number: signal.Signals) -> None:
        for zygote in (self._here, self._there):
            zygote.signal(id, number)

    def events(self, timeout: float) -> list[Event]:
        return self._here.events(timeout) + self._there.events(0.0)


class Setting:
    """Redis and a zygote on the servers' host, a zygote on the workers', and data for both."""

    def __init__(self, stack: ExitStack) -> None:
        self.hosts = Hosts()
        stack.callback(self.hosts.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gs-collective-")))
        here, there = Zygote(), Zygote()
        for zygote in (here, there):
            stack.callback(zygote.close)
        here.start()
        with self.hosts.workers():
            there.start()
        self.zygote = ZygoteOfBoth(here, there)
        self.redis: Redis = stack.enter_context(common.redis_on("tcp", self.folder, 2 * 10**9))
        self.admin = connect(self.redis.url, password=self.redis.password)
        self.admin.config_set("bind", f"127.0.0.1 {SERVER}")
        self.url = f"redis://{SERVER}:{self.redis.url.rpartition(':')[2]}"
        rng, shape = np.random.default_rng(1), (EXAMPLES, 784)
        rng.random(shape, np.float32).tofile(work.place(self.folder, "train", work.IMAGES))
        rng.integers(10, size=EXAMPLES).tofile(work.place(self.folder, "train", work.LABELS))
        for part in (work.IMAGES, work.LABELS):
            shutil.copyfile(work.place(self.folder, "train", part), work.place(self.folder, "eval", part))

    @contextmanager
    def running(self, system: str, item: str) -> Iterator[Callable[[float], list[Count]]]:
        """Train until the end of the context. Gives a function that waits so many seconds, and returns the counts of the workers.
        It raises AssertionError when training has ended."""
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))
        told = Told(item, str(folder), str(self.folder))
        try:
            with self._ddp(told) if system == DDP else self._job(told, SERVERS[system]) as wait:

                def counts(seconds: float) -> list[Count]:
                    wait(seconds)
                    return counter.read(folder)

                yield counts
        finally:
            shutil.rmtree(folder)

    @contextmanager
    def _ddp(self, told: Told) -> Iterator[Callable[[float], None]]:
        workers = [self._start_ddp(told, 0)]
        try:
            with self.hosts.workers():
                workers.append(self._start_ddp(told, 1))

            def wait(seconds: float) -> None:
                time.sleep(seconds)
                assert all(worker.poll() is None for worker in workers), Path(told.folder, "log").read_text()

            yield wait
        finally:
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.wait()

    def _start_ddp(self, told: Told, rank: int) -> subprocess.Popen[bytes]:
        environment = os.environ | {"GLOO_SOCKET_IFNAME": INTERFACES[rank], "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.collective", "--rank", str(rank), "--told", told.json()]
        ends_with_us = partial(die_with_parent, os.getpid(), signal.SIGKILL)
        with Path(told.folder, "log").open("a") as log:
            return subprocess.Popen(command, env=environment, cwd=ours.CODE, stderr=log, preexec_fn=ends_with_us)

    @contextmanager
    def _job(self, told: Told, servers: dict[str, Any]) -> Iterator[Callable[[float], None]]:
        told.options.update({"strategy": {"name": "sync"}, "rate": 2, "job": {}})
        spec = ours.job(told, roles={"worker": {"count": 2, "device": "cpu"}, "server": servers})
        attempt = LocalAttempt(spec, ours.CODE, Path(told.folder) / "job", zygote=self.zygote, redis=self.admin, plane_url=self.url)
        attempt._shared.close()
        attempt._shared = SharedFolders(None)  # two hosts share none
        try:
            attempt.start()

            def wait(seconds: float) -> None:
                until = time.monotonic() + seconds
                while (left := until - time.monotonic()) > 0:
                    list(attempt.pump(min(left, 0.25)))
                    attempt.metrics()
                    assert not attempt.failed, attempt.failed
                assert not attempt.over, "the job has ended"

            yield wait
            attempt.stop("measured")
            deadline = time.monotonic() + ENDS_WITHIN
            while not attempt.over and time.monotonic() < deadline:
                list(attempt.pump(0.25))
        finally:
            attempt.close()


def steps_per_second(counts: Callable[[float], list[Count]], settle: float, seconds: float) -> float:
    """Return those of a worker, from `settle` seconds after both have begun."""
    deadline = time.monotonic() + STARTS_WITHIN
    while len(counts(0.2)) < 2:
        assert time.monotonic() < deadline, "not both workers have trained in time"
    before = counts(settle)
    after = counts(seconds)
    return statistics.mean((b.steps - a.steps) / (b.last - a.last) for a, b in zip(before, after, strict=True))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    network, found = Network(args.gbits, args.delay), dict[tuple[str, str], list[float]]()
    with ExitStack() as stack:
        setting = Setting(stack)
        setting.hosts.become(network)
        for number in range(1, args.rounds + 1):
            for item in args.items:
                for system in args.systems:
                    with setting.running(system, item) as counts:
                        rate = steps_per_second(counts, args.settle, args.seconds)
                    found.setdefault((item, system), []).append(rate)
                    print(f"round {number}: {item}: {system}: {rate:.2f} steps per second", file=sys.stderr)
        cannot = setting.hosts.cannot([network])
    rows = [
        {"item": item, "parameters": work.ITEMS[item].parameters, "system": system, "steps": spread(rates)}
        for (item, system), rates in found.items()
    ]
    return {"network": str(network), "rows": rows, "ratios": _ratios(rows), "cannot": cannot}


def _ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return no servers over DistributedDataParallel, of the medians, by item."""
    steps = {(row["item"], row["system"]): row["steps"]["median"] for row in rows}
    ours_first = {item: (steps.get((item, "no servers")), steps.get((item, DDP))) for item, _ in steps}
    return {item: mine / other for item, (mine, other) in ours_first.items() if mine and other}


def markdown(result: dict[str, Any]) -> str:
    rows = [[f"{row['item']}, {row['parameters'] / 1e6:.3g} million", row["system"], said(row["steps"])] for row in result["rows"]]
    ratios = [
        [item, f"{ratio:.2f}", f">= {LEAST_RATIO:g}", "reached" if ratio >= LEAST_RATIO else "short"]
        for item, ratio in result["ratios"].items()
    ]
    return "\n".join(
        [
            *common.head(result),
            f"Two workers, between them {result['network']} added to a round trip.\n",
            *(f"NB: {what}.\n" for what in result["cannot"]),
            *table(["model, parameters", "system", "steps per second, median (9 of 10)"], rows),
            "",
            *table(["model", f"no servers over {DDP}", "wanted", ""], ratios),
        ]
    )


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.collective", description=__doc__)
    made.add_argument("--items", nargs="+", choices=("mlp", "wide"), default=["mlp", "wide"])
    made.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    made.add_argument("--gbits", type=float, default=1.0, help="each way; 0: no limit")
    made.add_argument("--delay", type=float, default=0.0, help="milliseconds added to a round trip; needs netem")
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--settle", type=float, default=1.0)
    made.add_argument("--seconds", type=float, default=6.0)
    made.add_argument("--json", action="store_true")
    for hidden in ("--rank", "--told"):
        made.add_argument(hidden, help=argparse.SUPPRESS)
    made.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return made


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    torch.set_num_threads(1)
    if args.rank is not None:
        ddp.train(int(args.rank), Told(**json.loads(args.told)))
    try:
        if not args.inside:
            enter("benchmarks.collective", sys.argv[1:] if arguments is None else arguments)
        result = common.about(rounds=args.rounds, seconds=args.seconds) | measure(args)
    except Forbidden as error:
        print(json.dumps({"absent": str(error)}) if args.json else f"not measured: {error}")
        return 0
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(common.interruptible(main))
