"""Attempts of workers that compute nothing: real server processes, and worker processes that only exchange.

A worker's gradient lies there already. Each round puts it where gradients travel from, as a model gathers its own there, takes its
norm, pushes it, and waits until the next center has arrived: what a step costs beside its computation. There are no metrics of
workers, no evaluator and no checkpoint. Each push must have been applied once."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import torch
from torch import Tensor

from benchmarks.common import cpu
from gradstream.center.entries import Payload
from gradstream.local.servers.redis import Redis
from gradstream.process.order import PlaneAccess, ProcessOrder, Role, SharedMemory, StoreAccess, plane_id
from gradstream.process.shared import SharedFolders
from gradstream.process.zygote.zygote import Exited, Refused, Started, Zygote
from gradstream.sim.toys import Quadratic, job
from gradstream.spec import JobSpec
from gradstream.training.link import Link, LinkEvents
from gradstream.training.problem import Gradient
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.gpu.memory import CudaMemory
from gradstream.wire.port import RedisPort
from gradstream.wire.redis.client import connect
from gradstream.wire.transport.layout import Layout

CODE = Path(__file__).parents[1]
ENTRYPOINT = "benchmarks.idle:main"
_WARM_UP = 2
_STARTS_WITHIN = _GO_WITHIN = 60.0
_POLL_INTERVAL = 0.002
"""Seconds."""


@dataclass(frozen=True)
class Work:
    """What is exchanged, and for how long."""

    nbytes: int
    """Of the parameters, float32."""
    codec: str = "raw"
    """How pushes travel; `int8/bf16`: and how the center does."""
    shards: int = 1
    workers: int = 1
    shared: bool = False
    """By shared memory instead of through Redis."""
    gpus: frozenset[Role] = frozenset()
    """Roles whose processes are on the first GPU."""
    seconds: float = 0.5
    least: int = 3
    """Exchanges of each worker, should they take longer than `seconds`."""

    @property
    def parameters(self) -> int:
        return self.nbytes // 4

    def spec(self) -> JobSpec:
        push, _, pull = self.codec.partition("/")
        return job(
            {"name": "async", "lr": 1e-3},
            workers=self.workers,
            shards=self.shards,
            codec={"name": push},
            pull_codec={"name": pull or "raw"},
            workload={
                "entrypoint": "benchmarks.idle:main",
                "args": {"parameters": self.parameters, "seconds": self.seconds, "least": self.least},
            },
        )


@dataclass
class Exchanged:
    """What came of it."""

    times: list[float]
    """Seconds of each exchange of each worker."""
    seconds: float
    """From the first worker's first exchange to the last one's last."""
    posted: int
    applied: int
    sent: int
    received: int
    """Bytes of vectors through Redis, of all workers; of shared memory none."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds that workers, servers and Redis used for them."""
    metered: dict[str, float] = field(default_factory=dict)
    """What the meters of the place showed for them."""

    @property
    def closes(self) -> bool:
        return self.posted == self.applied


class Unfinished(Exception):
    """A process ended badly, or nothing came in time."""


class Place:
    """Where attempts run: a Redis, and zygotes that fork the processes of servers and of workers."""

    def __init__(
        self,
        redis: Redis,
        folder: Path,
        servers: Zygote,
        workers: Zygote | None = None,
        url: str = "",
        meters: Mapping[str, Callable[[], float]] | None = None,
    ) -> None:
        """`url`: of Redis as workers reach it; empty: as all do. `meters`: what else is read when all workers go and when they
        have come."""
        self._redis, self._folder = redis, folder
        self._url = url or redis.url
        self._servers, self._workers = servers, workers or servers
        self._meters = meters or {}

    def exchange(self, work: Work) -> Exchanged:
        """Raises: Unfinished."""
        admin = connect(self._redis.url, password=self._redis.password)
        folders = SharedFolders() if work.shared else None
        attempt = _Attempt(work, self._folder / uuid4().hex, folders)
        plane.create(admin, attempt.j, password=attempt.password)
        try:
            for rank in range(work.shards):
                attempt.fork(self._servers, "server", rank, self._redis.url)
            for rank in range(work.workers):
                attempt.fork(self._workers, "worker", rank, self._url)
            assert self._redis.child.pid is not None, "it was started"
            return attempt.measured(self._redis.child.pid, self._meters)
        finally:
            attempt.kill()
            plane.destroy(admin, attempt.j)
            admin.close()
            if folders:
                folders.close()


class _Attempt:
    password = "exchange"

    def __init__(self, work: Work, folder: Path, folders: SharedFolders | None) -> None:
        self._work, self._spec, self._folder, self._job = work, work.spec(), folder, uuid4()
        self._running: dict[UUID, tuple[Zygote, str]] = {}
        self._pids: dict[str, int] = {}
        folder.mkdir()
        self.j = plane_id(self._job, 1)
        shared = folders and folders.of(self.j)
        self._shared = SharedMemory(folder=str(shared), servers=list(range(work.shards))) if shared else None

    def _order(self, role: Role, rank: int, url: str) -> ProcessOrder:
        return ProcessOrder(
            id=uuid4(),
            job_id=self._job,
            attempt=1,
            role=role,
            rank=rank,
            spec=self._spec,
            plane=PlaneAccess(url=url, user=plane.account(self.j), password=self.password),
            store=StoreAccess(url=(self._folder / "store").as_uri()),
            shared=self._shared,
            gpus=[0] if role in self._work.gpus else [],
        )

    def fork(self, zygote: Zygote, role: Role, rank: int, url: str) -> None:
        order = self._order(role, rank, url)
        home = self._folder / order.label
        home.mkdir()
        (home / "code").symlink_to(CODE)
        self._running[order.id] = (zygote, order.label)
        zygote.fork(order, home, entrypoint=ENTRYPOINT if role == "worker" else None)

    def measured(self, redis: int, meters: Mapping[str, Callable[[], float]]) -> Exchanged:
        """Let all workers go when all are there."""
        names = [f"worker-{rank}" for rank in range(self._work.workers)]
        self._until(lambda: all((self._folder / name / "ready").exists() for name in names), _STARTS_WITHIN)
        servers = [pid for name, pid in self._pids.items() if name not in names]
        before, began = {"servers": cpu(servers), "redis": cpu([redis])}, time.monotonic()
        shown = {name: read() for name, read in meters.items()}
        (self._folder / "go").touch()
        results = [self._folder / name / "result.json" for name in names]
        longest = _STARTS_WITHIN + 20 * self._work.seconds + 30e-9 * self._work.nbytes * self._work.least * self._work.workers
        self._until(lambda: all(result.exists() for result in results), longest)
        told = [json.loads(result.read_text()) for result in results]
        ended = max(each["ended"] for each in told)
        used = {"servers": cpu(servers) - before["servers"], "redis": cpu([redis]) - before["redis"]}
        return Exchanged(
            [seconds for each in told for seconds in each["times"]],
            ended - began,
            sum(each["posted"] for each in told),
            max(each["version"] for each in told),
            sum(each["sent"] for each in told),
            sum(each["received"] for each in told),
            {"workers": sum(each["cpu"] for each in told), **used},
            {name: read() - shown[name] for name, read in meters.items()},
        )

    def _until(self, there: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not there():
            for name in self._hear(_POLL_INTERVAL):
                if not (self._folder / name / "result.json").exists():
                    log = self._folder / name / "log"
                    raise Unfinished(f"{name} ended: {log.read_text()[-1500:] if log.exists() else 'without a word'}")
            if time.monotonic() > deadline:
                raise Unfinished(f"{self._work} had not come so far within {seconds:.0f} s")

    def _hear(self, timeout: float) -> list[str]:
        """Names of processes that have ended."""
        ended = []
        for zygote in {zygote for zygote, _ in self._running.values()}:
            for event in zygote.events(timeout):
                if event.id not in self._running:
                    continue
                name = self._running[event.id][1]
                if isinstance(event, Started):
                    self._pids[name] = event.pid
                elif isinstance(event, Exited | Refused):
                    del self._running[event.id]
                    ended.append(name)
        if not self._running:
            time.sleep(timeout)
        return ended

    def kill(self) -> None:
        """No server makes a last checkpoint: what it holds is worth nothing."""
        for id, (zygote, _) in self._running.items():
            zygote.signal(id, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while self._running and time.monotonic() < deadline and any(z.alive for z, _ in self._running.values()):
            self._hear(0.05)


# ---- in the worker's process -----------------------------------------------------------------------------------------------


class Idle(Quadratic):
    """A gradient that is there already, and is gathered: one copy."""

    def __init__(self, spec: JobSpec, size: int, device: torch.device) -> None:
        super().__init__(spec, 0, torch.zeros(size, device=device), torch.zeros(1), torch.zeros(1))
        self._g = torch.randn(size, generator=self._generator).mul_(1e-3).to(device)
        self._out = torch.zeros(size, device=device)
        self._wait_for_push: Callable[[], None] = lambda: None

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        self._out, self._wait_for_push = out, wait_for_push

    def gradient(self, position: int) -> Gradient:
        self._wait_for_push()
        self._out.copy_(self._g)
        return Gradient(self._out, 0.0, 1)


def main(order: ProcessOrder, folder: Path) -> int:
    spec, args = order.spec, order.spec.workload.args
    device = torch.device("cuda:0" if order.gpus else "cpu")
    w = Replica(spec, Idle(spec, args["parameters"], device))
    layout = Layout.of(w.theta, None, spec.roles.server.shards)
    codecs, memory = (spec.codec, spec.pull_codec), CudaMemory() if device.type == "cuda" else None
    port = RedisPort(order.plane, order.plane_id, order.rank, 0, layout, *codecs, shared=order.shared, device=memory)
    if order.shared and not port.shares:
        raise Unfinished(f"vectors of {layout.size * 4 / 1e6:.0f} MB do not fit into {order.shared.folder}")
    link = Link(spec, port, w, order.rank, 0, LinkEvents())
    link.join(Payload(w.theta.cpu(), None) if order.rank == 0 else None, None)
    for _ in range(_WARM_UP):
        _exchange(spec, w, link)
    port.take_traffic()
    _wait_for_all(folder)
    times: list[float] = []
    began, spent = time.perf_counter(), time.process_time()
    while len(times) < args["least"] or time.perf_counter() - began < args["seconds"]:
        times.append(_exchange(spec, w, link))
    sent, _, received = port.take_traffic()
    told: dict[str, Any] = {
        "times": times,
        "cpu": time.process_time() - spent,
        "ended": time.monotonic(),
        "posted": len(times) + _WARM_UP,
        "version": link.version,
        "sent": sent,
        "received": received,
    }
    made = folder / "result"
    made.write_text(json.dumps(told))
    made.rename(folder / "result.json")
    return 0


def _exchange(spec: JobSpec, w: Replica, link: Link) -> float:
    """Seconds from the gradient to the next center."""
    link.begin()
    began = time.perf_counter()
    spec.strategy.round(w, link)
    link.wait_for_responses()  # they bring the center, which the next round takes
    return time.perf_counter() - began


def _wait_for_all(folder: Path) -> None:
    (folder / "ready").touch()
    deadline = time.monotonic() + _GO_WITHIN
    while not (folder.parent / "go").exists():
        if time.monotonic() > deadline:
            raise Unfinished("nobody said go")
        time.sleep(_POLL_INTERVAL)
