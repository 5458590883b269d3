"""The real plane with formulas for models: real Redis, the product's servers, ports and links, each in a thread."""

from __future__ import annotations

import secrets
import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import torch
from redis import Redis as Client
from torch import Tensor

from gradstream.center.entries import EVALUATOR, FINAL_CHECKPOINT, Join, Leave, Payload, Response
from gradstream.hogwild.replica import make_replica
from gradstream.local.servers.redis import Redis
from gradstream.metrics import Metric, Point
from gradstream.process.order import PlaneAccess, ProcessOrder, Resume, Role, SharedMemory, StoreAccess, plane_id
from gradstream.process.saving.checkpoint_names import worker_part
from gradstream.process.saving.part import CheckpointPartFiles, resumed_state
from gradstream.process.saving.uploads import Uploads
from gradstream.process.shared import SharedFolders
from gradstream.process.store import open_store
from gradstream.serverless.collective.port import CollectivePort
from gradstream.serverless.collective.surviving_port import SurvivingPort
from gradstream.serverless.holder.client_port import ClientPort
from gradstream.serverless.holder.port import HolderPort
from gradstream.serverless.port import ServerlessPort
from gradstream.serverless.ports import AnyServerlessPort
from gradstream.shard_server.settings import ServerSettings
from gradstream.spec import JobSpec
from gradstream.training.link import Link, LinkEvents
from gradstream.training.loop import train
from gradstream.training.problem import Problem
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.port import RedisPort
from gradstream.wire.redis import keys
from gradstream.wire.redis.routes import Instances, Routes, everywhere
from gradstream.wire.telemetry import records
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.remote import RemoteServers
from gradstream.wire.transport.retransmissions import Retransmissions
from gradstream.wire.transport.shm import count_centers
from ps_node.server import Server
from tests.support import TIMEOUT

AnyPort = RedisPort | AnyServerlessPort


class Killed(BaseException):
    """Ends the thread of a worker as a kill ends its process."""


Make = Callable[[JobSpec, int], Problem]

_BUILDING = threading.Lock()
"""Models are built one at a time. torch holds the lock of its generator while it makes a Python object of the state; if garbage
collection lets another thread run there, which wants that state too, both wait for ever. Workers have a process each."""


class _Uploading(LinkEvents):
    """Uploads a worker's states, and notes its distances."""

    def __init__(self, uploads: Uploads, rank: int, distances: list[float]) -> None:
        self._uploads, self._rank, self._distances = uploads, rank, distances

    def save_state(self, checkpoint: int, state: Callable[[], dict[str, Any]]) -> None:
        self._uploads.add_all(CheckpointPartFiles(checkpoint, worker_part(self._rank), state()), needed=True)

    def measured_distance(self, distance: float) -> None:
        self._distances.append(distance)


@dataclass
class Cluster:
    """One attempt. `start`, then `finish`, which returns the last center."""

    redis: Redis
    spec: JobSpec
    problem: Make
    folder: Path
    number: int = 1
    resume: Resume | None = None
    job: UUID = field(default_factory=uuid4)
    local: Sequence[int] = ()
    """Shards that share memory with the workers."""
    serverless: bool = False
    """No servers: worker k holds shard k, or worker 0 the only one, if the job goes on after losses. `local` names all shards."""
    gloo: bool = False
    """No servers, and each worker holds the whole center: the job has one shard."""
    device: torch.device | None = None
    """Where shards compute: see `Shard`. With `gloo`: where all vectors lie, see `CollectivePort`."""
    memory: DeviceMemory | None = None
    """The memory of that device."""
    workers_memory: DeviceMemory | None = None
    """The memory of the device on which workers compute; None: they compute on the CPU."""
    before_round: Callable[[int, Replica], None] = lambda rank, w: None
    errors: list[BaseException] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)
    ports: dict[int, AnyPort] = field(default_factory=dict)
    """The port of the newest incarnation of each worker."""
    distances: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """What each worker was told of how far the center had moved away from its bases."""

    def __post_init__(self) -> None:
        self.shared = SharedFolders() if self.local else None
        self.admin: Client = Instances.of(self.redis.url, password=self.redis.password)
        self.j = plane_id(self.job, self.number)
        password = secrets.token_hex(8)
        self.access = PlaneAccess(url=self.redis.url, user=plane.account(self.j), password=password)
        plane.create(self.admin, self.j, password=password)

    def start(self) -> None:
        for rank in range(0 if self.serverless or self.gloo else self.spec.roles.server.shards):
            self.thread(self.serve, rank)
        for rank in range(self.spec.roles.worker.count):
            self.thread(self.work, rank)

    def thread(self, target: Callable[..., None], *args: Any) -> threading.Thread:
        def guarded() -> None:
            torch.set_num_threads(1)  # as in a server's process: products of matrices have other bits with more
            try:
                target(*args)
            except BaseException as error:
                self.errors.append(error)

        thread = threading.Thread(target=guarded, name=f"{target.__name__} {args}", daemon=True)
        self.threads.append(thread)
        thread.start()
        return thread

    def order(self, role: Role, rank: int, incarnation: int = 0) -> ProcessOrder:
        folder = self.shared and self.shared.of(self.j)
        shared = SharedMemory(folder=str(folder), servers=list(self.local)) if folder else None
        return ProcessOrder(
            id=uuid4(),
            job_id=self.job,
            attempt=self.number,
            role=role,
            rank=rank,
            incarnation=incarnation,
            spec=self.spec,
            plane=self.access,
            store=StoreAccess(url=(self.folder / "store").as_uri()),
            resume=self.resume,
            shared=shared,
        )

    def home(self, name: str) -> Path:
        home = self.folder / f"{self.number}.{name}"
        home.mkdir(parents=True, exist_ok=True)
        return home

    def serve(self, rank: int) -> None:
        order, home = self.order("server", rank), self.home(f"server-{rank}")
        reporter = Reporter(order.plane, self.j, order.label)
        server = Server(order, home, reporter, ServerSettings(), self.device, self.memory)
        self.servers.append(server)
        server.run()
        reporter.close()

    def link(self, rank: int, incarnation: int = 0) -> tuple[Link, Replica, AnyPort, Uploads]:
        order = self.order("worker", rank, incarnation)
        problem = self.build(rank)
        uploads = Uploads(open_store(order.store, order))
        w = make_replica(self.spec, problem, lambda t, loss: None)
        port = self.ports[rank] = self.port(rank, incarnation, w)
        link = Link(self.spec, port, w, rank, incarnation, _Uploading(uploads, rank, self.distances[rank]))
        proposes = rank == 0 and self.resume is None
        store = open_store(order.store, order)
        resumed = resumed_state(store, worker_part(rank), self.folder) if incarnation == 0 else None
        link.join(Payload(problem.theta, w.model.buffers()) if proposes else None, resumed)
        return link, w, port, uploads

    def build(self, rank: int) -> Problem:
        with _BUILDING:
            return self.problem(self.spec, rank)

    def port(self, rank: int, incarnation: int, w: Replica) -> AnyPort:
        shards, sees = self.spec.roles.server.shards, self.spec.optimizer_at_servers.sees
        layout = Layout.of(w.theta, w.model.buffers(), shards, w.model.parameters, sees)
        if (self.serverless or self.gloo) and rank >= 0:
            return self.serverless_port(self.order("worker", rank, incarnation), layout)
        shared = self.order("worker", rank, incarnation).shared if rank >= 0 else None
        return RedisPort(
            self.access,
            self.j,
            rank,
            incarnation,
            layout,
            self.spec.codec,
            self.spec.pull_codec,
            shared=shared,
            centers=count_centers(self.spec, rank),
            device=self.workers_memory,
        )

    def serverless_port(self, order: ProcessOrder, layout: Layout) -> AnyServerlessPort:
        if self.gloo:
            given = order, self.home(f"worker-{order.rank}"), layout, ServerSettings()
            return SurvivingPort(*given) if self.spec.on_worker_loss == "continue" else CollectivePort(*given, device=self.device)
        if self.spec.on_worker_loss == "continue" and order.rank != 0:
            return ClientPort(order, layout)
        port = HolderPort if self.spec.on_worker_loss == "continue" else ServerlessPort
        return port(order, self.home(f"worker-{order.rank}"), layout, ServerSettings())

    def remote(self, rank: int) -> RemoteServers:
        """What a worker sends by."""
        return RemoteServers(Routes(self.access, self.j), self.j, rank, 0, Retransmissions())

    def work(self, rank: int, incarnation: int = 0) -> None:
        link, w, port, uploads = self.link(rank, incarnation)
        strategy = self.spec.strategy

        class Watched:
            def round(inner, w: Replica, ps: Link) -> None:
                self.before_round(rank, w)
                strategy.round(w, ps)

        train(Watched(), w, link)  # type: ignore[arg-type]
        link.leave()
        uploads.add_all(CheckpointPartFiles(FINAL_CHECKPOINT, worker_part(rank), link.state()), needed=True)
        if isinstance(port, AnyServerlessPort):
            port.serve()
        uploads.finish()

    def watch(self, seconds: float = TIMEOUT) -> Response:
        """Be the evaluator: wait for the end, and return the last response (with a copy of the center)."""
        port = self.port(EVALUATOR, 0, Replica(self.spec, self.build(EVALUATOR)))
        port.send(Join(EVALUATOR, 0))
        response = port.receive_within(seconds)
        if response is None and self.errors:
            raise self.errors[0]
        assert response is not None, f"the job was not over after {seconds} s: {self.stacks()}"
        assert response.outcome == "over"
        port.send(Leave(EVALUATOR, 0, "done"))
        return response

    def stacks(self) -> str:
        """Where each thread that has not ended stands."""
        frames = sys._current_frames()
        alive = [thread for thread in self.threads if thread.ident in frames]
        return "\n".join(f"{thread.name}:\n{''.join(traceback.format_stack(frames[thread.ident or 0]))}" for thread in alive)

    def finish(self, seconds: float = TIMEOUT) -> Tensor:
        response = self.watch(seconds)
        for thread in self.threads:
            thread.join(seconds)
            assert not thread.is_alive(), f"{thread.name} did not end: {self.stacks()}"
        if self.errors:
            raise self.errors[0]
        assert response.payload is not None
        return response.payload.x.clone()

    def run(self, seconds: float = TIMEOUT) -> Tensor:
        self.start()
        return self.finish(seconds)

    def keys(self, kind: str) -> list[str]:
        """Keys of this attempt's payloads (`d`), centers (`c`) or responses (`r`) that lie in Redis."""
        patterns, clients = keys.patterns(self.j), everywhere(self.admin)
        found = [key.decode() for client in clients for pattern in patterns for key in client.scan_iter(match=pattern)]
        return sorted(key for key in found if f":{kind}:" in key)

    def points(self, metric: Metric) -> list[Point]:
        """What servers have reported of it, in order."""
        batches: Any = self.admin.xrange(keys.metrics(self.j))
        return [point for _, fields in batches for point in records.unpack(fields[b"points"]) if point.name == metric.name]

    def close(self) -> None:
        plane.destroy(self.admin, self.j)
        if self.shared:
            self.shared.close()
