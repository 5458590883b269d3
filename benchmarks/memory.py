"""Does anything grow while jobs train for long? `python -m benchmarks.memory --minutes 60`.

A platform of its own, as `gradstream up` starts it, and beside it a second agent that has no shared memory. Two jobs train at the
same time until they are stopped, one on each: two workers, `async` with an exchange for each mini-batch, evaluation, metrics and
checkpoints. So one job's vectors lie in shared memory and the other's go through Redis. Every few seconds each process is asked
for its own memory, and both Redis for `used_memory`. What is fitted begins after a warm-up, in which caches and pools fill."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks import common
from benchmarks.footprint import BUFFERS, MB, SPANS, Trend, held, trend
from benchmarks.rows import make_join_token
from benchmarks.running import Failed, Running, running, until
from gradstream.client import Client
from gradstream.local.servers.child import Child
from gradstream.local.servers.redis import Redis
from gradstream.spec import JobSpec
from gradstream.wire.redis.client import connect

WANTED = 1.0
"""MB in an hour that a program may grow by."""
LOCAL, REMOTE = "shared memory", "through Redis"
WORKERS = 2
_STORES = ("live", "plane")
_SAID_EVERY = 60.0
CODE = '''\
"""A perceptron on made data, without an end."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

from gradstream import Workload


class Endless(Workload):
    def model(self):
        return nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 10))

    def dataset(self, split):
        drawn = torch.Generator().manual_seed(0)
        examples = torch.rand(4096, 784, generator=drawn)
        return TensorDataset(examples, torch.randint(10, (4096,), generator=drawn))

    def loss(self, model, batch):
        return cross_entropy(model(batch[0]), batch[1])
'''


def job(name: str, checkpoints: float) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": name,
            "workload": {"entrypoint": "endless:Endless"},
            "batch_size": 64,
            "strategy": {"name": "async", "lr": 0.001},
            "roles": {"worker": {"count": WORKERS, "device": "cpu"}},
            "stop": {"steps": 10**9},
            "checkpoint": {"every": checkpoints},
        }
    )


@dataclass
class Readings:
    """In MB, one for each time; 0 where a program was not there."""

    times: list[float] = field(default_factory=list)
    programs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, time: float, found: dict[str, float]) -> None:
        for name in found.keys() - self.programs.keys():
            self.programs[name] = [0.0] * len(self.times)
        self.times.append(time)
        for name, values in self.programs.items():
            values.append(found.get(name, 0.0))

    def since(self, time: float) -> dict[str, Trend]:
        first = next((k for k, at in enumerate(self.times) if at >= time), len(self.times))
        if len(self.times) - first < SPANS:
            raise Failed(f"{len(self.times) - first} readings after the warm-up, {SPANS} are needed; give it more minutes")
        return {name: trend(self.times[first:], values[first:]) for name, values in sorted(self.programs.items())}


class Jobs:
    """The two that train, which nothing may disturb."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids: dict[str, UUID] = {}

    def begin(self, where: str, name: str, checkpoints: float, code: Path) -> None:
        """Returns when it trains. Raises: Failed."""
        self._ids[where] = self._client.submit(job(name, checkpoints), code=code).id
        until(lambda: self._client.job(self._ids[where]).progress.samples > 0 or self.look(), f"the job {where} does not train")

    def look(self) -> None:
        """Raises: Failed: one has ended, or a process of it has."""
        for where, id in self._ids.items():
            now, processes = self._client.job(id), self._client.processes(id)
            ended = [f"{process.label}: {process.message or process.reason}" for process in processes if process.ended_at]
            if now.ended or ended or now.attempt > 1:
                raise Failed(f"the job {where} is {now.status} in attempt {now.attempt}. {'; '.join(ended)}")

    def versions(self) -> dict[str, int]:
        """Updates so far."""
        return {where: self._client.job(id).progress.version for where, id in self._ids.items()}

    def check_ways(self) -> None:
        """Raises: Failed: vectors do not go where they should."""
        for where, id in self._ids.items():
            exchange = self._client.job(id).progress.exchange
            if exchange is None or bool(exchange.sent_bytes) != (where == REMOTE):
                raise Failed(f"the vectors of the job {where} went another way: {exchange}")

    def stop(self) -> None:
        """A job that does not end in time ends with the platform; what was measured stands."""
        for id in self._ids.values():
            self._client.stop(id)
        for id in self._ids.values():
            try:
                self._client.wait(id, timeout=60)
            except TimeoutError as error:
                print(error, file=sys.stderr)


@contextmanager
def second_agent(platform: Running, folder: Path) -> Iterator[Child]:
    """Another node on this machine, without shared memory."""
    join_token = folder / "join-token"
    join_token.write_text(make_join_token(platform.folder))
    settings = {
        "API_URL": platform.url,
        "NODE_NAME": "without-shared-memory",
        "JOIN_TOKEN_FILE": join_token,
        "SLOTS": WORKERS,
        "LIVE_REDIS_URL": _redis(platform, "live"),
        "WORK_DIR": folder / "agent",
        "SHARED_MEMORY": "",
    }
    environment = os.environ | {f"GRADSTREAM_{name}": str(value) for name, value in settings.items()}
    agent = Child("agent", [sys.executable, "-m", "worker_agent"], log=folder / "agent.log", env=environment)
    agent.start()
    try:
        yield agent
    finally:
        agent.stop(12)


def _redis(platform: Running, name: str) -> str:
    holder = platform.folder.holder()
    assert holder is not None, "a platform that is ready says where it is"
    secret = platform.folder.secret(f"redis-{name}-password")
    return Redis(name, Path(holder.run_dir, f"redis-{name}"), log=Path(os.devnull), password_file=secret).url


class Meter:
    """Reads everything, every few seconds."""

    def __init__(self, platform: Running, agent: Child) -> None:
        assert agent.pid is not None, "the second agent runs"
        self._roots = {platform.pid: LOCAL, agent.pid: REMOTE}
        self._stores = {
            name: connect(_redis(platform, name), password=platform.folder.secret(f"redis-{name}-password").read_text().strip())
            for name in _STORES
        }
        self.readings = Readings()

    def read(self) -> None:
        found = held(self._roots)
        for name, store in self._stores.items():
            found[f"Redis, {name}: used_memory"] = int(store.info("memory")["used_memory"]) / MB
        self.readings.add(time.monotonic(), found)

    def follow(self, jobs: Jobs, until: float, every: float) -> None:
        """Until that moment of the monotonic clock. Raises: Failed: a job was disturbed."""
        said = time.monotonic()
        while (now := time.monotonic()) < until:
            self.read()
            if now - said > _SAID_EVERY:
                jobs.look()
                said = now
                total = sum(values[-1] for name, values in self.readings.programs.items() if "used_memory" not in name)
                print(f"{(until - now) / 60:.0f} minutes to go; {total:,.0f} MB in all", file=sys.stderr)
            time.sleep(max(0.0, min(now + every, until) - time.monotonic()))


def measure(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    code = folder / "code"
    code.mkdir()
    (code / "endless.py").write_text(CODE)
    with running(folder, "--slots", str(WORKERS)) as platform, platform.client() as client:
        jobs = Jobs(client)
        jobs.begin(LOCAL, "local", args.checkpoints, code)  # takes all slots of the first node, so the other job goes to the second
        with second_agent(platform, folder) as agent:
            try:
                until(lambda: sum(node.status == "ready" for node in client.nodes()) == 2, "the second agent has not registered")
                jobs.begin(REMOTE, "remote", args.checkpoints, code)
                return _followed(Meter(platform, agent), jobs, args)
            finally:
                jobs.stop()


def _followed(meter: Meter, jobs: Jobs, args: argparse.Namespace) -> dict[str, Any]:
    began = time.monotonic()
    meter.follow(jobs, began + 60 * args.warm_up, args.every)
    before = jobs.versions()
    meter.follow(jobs, began + 60 * args.minutes, args.every)
    after = jobs.versions()
    jobs.look()
    jobs.check_ways()
    trends = meter.readings.since(began + 60 * args.warm_up)
    rows = [{"program": name, **asdict(found), "grows": name != BUFFERS and found.grows(WANTED)} for name, found in trends.items()]
    return {
        "rows": rows,
        "updates": {where: after[where] - before[where] for where in after},
        "wanted": WANTED,
        "readings": {"seconds": [at - began for at in meter.readings.times], **meter.readings.programs},
    }


def markdown(result: dict[str, Any]) -> str:
    settings, updates = result["settings"], result["updates"]
    minutes = settings["minutes"] - settings["warm_up"]
    header = ("program", "MB at first", "MB at the end", "most", "MB in an hour", "")
    rows = [
        (
            row["program"],
            f"{row['first']:,.1f}",
            f"{row['last']:,.1f}",
            f"{row['most']:,.1f}",
            f"{row['slope']:+,.2f} ± {row['error']:,.2f}",
            "GROWS" if row["grows"] else "",
        )
        for row in result["rows"]
    ]
    return "\n".join(
        [
            *common.head(result),
            f"{minutes:g} minutes after a warm-up of {settings['warm_up']:g}. Updates meanwhile: "
            + ", ".join(f"{count:,} {where}" for where, count in updates.items())
            + ". "
            f"Wanted: no program grows by more than {result['wanted']:g} MB in an hour, beyond doubt.",
            "",
            *common.table(header, rows),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="in all, from when both jobs train")
    parser.add_argument("--warm-up", type=float, help="minutes that are not fitted; default: a quarter, ten at most")
    parser.add_argument("--every", type=float, default=5, help="seconds between readings")
    parser.add_argument("--checkpoints", type=float, default=10, help="seconds between the checkpoints of a job")
    parser.add_argument("--json", action="store_true", help="one object, with all readings")
    args = parser.parse_args(arguments)
    args.warm_up = min(10.0, args.minutes / 4) if args.warm_up is None else args.warm_up
    settings = {"minutes": args.minutes, "warm_up": args.warm_up, "every": args.every, "checkpoints": args.checkpoints}
    with tempfile.TemporaryDirectory(prefix="gs-memory-") as name:
        try:
            result = common.about(**settings) | measure(Path(name), args)
        except Failed as error:
            print(f"python -m benchmarks.memory: {error}", file=sys.stderr)
            return 1
    print(json.dumps(result) if args.json else markdown(result))
    return int(any(row["grows"] for row in result["rows"]))


if __name__ == "__main__":
    sys.exit(common.interruptible(main))
