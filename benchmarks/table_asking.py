"""Rows that a push asks for, against rows that are looked up when the model asks: a real server and a real worker, through a Redis
that is `delay_ms` away from the worker. Both train the same click model, with the same bits."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, TensorDataset

from benchmarks.common import redis_on
from benchmarks.network import delayed
from gradstream import Workload, sim
from gradstream import nn as gnn
from gradstream.center.entries import Payload, Push
from gradstream.local.servers.redis import Redis
from gradstream.process.order import PlaneAccess, ProcessOrder, Role, StoreAccess, plane_id
from gradstream.shard_server.settings import ServerSettings
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.training.link import Link, LinkEvents
from gradstream.training.loop import train
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.port import RedisPort
from gradstream.wire.redis.client import connect
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from ps_node.server import Server

HOST, FIELDS, WIDTH, BATCH, EXAMPLES = "127.0.0.1", 8, 16, 256, 20_000
_PASSWORD = "asking"
_WARM_UP = 10
"""Rounds."""
_ENDS_WITHIN = 300.0
"""Seconds."""


class AskedClicks(Workload):
    """Clicks on ids of which few are frequent."""

    classifies = False
    named: bool = True

    def model(self) -> nn.Module:
        embedding, top = gnn.Embedding("ids", WIDTH), nn.Linear(FIELDS * WIDTH, 64)
        return nn.Sequential(embedding, nn.Flatten(1), top, nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))

    def dataset(self, split: str) -> Dataset[tuple[Tensor, ...]]:
        draw = np.random.default_rng(1)
        ids = draw.zipf(1.2, (EXAMPLES, FIELDS)) % 100_000 + np.arange(FIELDS) * 1_000_000
        return TensorDataset(torch.from_numpy(ids), torch.from_numpy(draw.integers(0, 2, len(ids)).astype(np.float32)))

    def ids(self, batch: Any) -> dict[str, Tensor]:
        return {"ids": batch[0]} if self.named else {}

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(model(batch[0]), batch[1])


def spec_of(named: bool, steps: int) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "asking",
            "workload": {"entrypoint": "benchmarks.table_asking:AskedClicks", "args": {"named": named}},
            "strategy": {"name": "sync"},
            "roles": {"worker": {"count": 1}, "server": {"count": 1}},
            "batch_size": BATCH,
            "stop": {"steps": steps},
            "tables": {"ids": {"rule": {"name": "adagrad", "lr": 0.1}}},
        }
    )


def asking_ratio(delay_ms: float, steps: int, attempts: int) -> float:
    """Seconds of a round with lookups over those with rows that were asked for: medians, the kinds of attempts take turns."""
    times: dict[bool, list[float]] = {True: [], False: []}
    torch.set_num_threads(1)
    sim.run(spec_of(True, 2), Workloads(spec_of(True, 2), Path()))  # loads the kernels, for the processes that are forked here
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gs-asking-")))
        redis = stack.enter_context(redis_on("tcp", folder))
        port, _ = stack.enter_context(delayed(int(redis.url.rpartition(":")[2]), delay_ms, HOST))
        for number in range(2 * attempts):
            named = bool(number % 2)
            times[named] += _Asking(redis, f"redis://{HOST}:{port}", folder / str(number), spec_of(named, steps)).round_seconds()
    return median(times[False]) / median(times[True])


class _Asking:
    """One attempt."""

    def __init__(self, redis: Redis, url: str, folder: Path, spec: JobSpec) -> None:
        """`url`: of Redis for the worker."""
        self._redis, self._folder, self._spec, self._job = redis, folder, spec, uuid4()
        self._urls: dict[Role, str] = {"server": redis.url, "worker": url}
        self._j = plane_id(self._job, 1)

    def round_seconds(self) -> list[float]:
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe(duplex=False)
        with self._plane():
            server = context.Process(target=self._serve, daemon=True)
            worker = context.Process(target=self._work, args=(there,), daemon=True)
            for process in (server, worker):
                process.start()
            try:
                if not here.poll(_ENDS_WITHIN):
                    raise TimeoutError(f"{self._spec.stop.steps} rounds have not ended within {_ENDS_WITHIN:.0f} s")
                times: list[float] = here.recv()
            finally:
                for process in (server, worker):
                    process.kill()
                    process.join()
        return times

    @contextmanager
    def _plane(self) -> Iterator[None]:
        admin = connect(self._redis.url, password=self._redis.password)
        plane.create(admin, self._j, password=_PASSWORD)
        try:
            yield
        finally:
            plane.destroy(admin, self._j)
            admin.close()

    def _order(self, role: Role) -> ProcessOrder:
        self._folder.mkdir(parents=True, exist_ok=True)
        access = PlaneAccess(url=self._urls[role], user=plane.account(self._j), password=_PASSWORD)
        store = StoreAccess(url=(self._folder / "store").as_uri())
        return ProcessOrder(id=uuid4(), job_id=self._job, attempt=1, role=role, rank=0, spec=self._spec, plane=access, store=store)

    def _serve(self) -> None:
        order = self._order("server")
        Server(order, self._folder, Reporter(order.plane, self._j, order.label), ServerSettings()).run()

    def _work(self, there: Any) -> None:
        problem, ends = Workloads(self._spec, Path())(self._spec, 0), _Ends()
        w = Replica(self._spec, problem)
        layout = Layout.of(w.theta, w.model.buffers(), 1)
        port = RedisPort(self._order("worker").plane, self._j, 0, 0, layout, self._spec.codec, self._spec.pull_codec)
        link = Link(self._spec, port, w, 0, 0, ends)
        link.join(Payload(problem.theta, w.model.buffers()), None)
        train(self._spec.strategy, w, link)
        there.send(np.diff(ends.times[_WARM_UP:]).tolist())


class _Ends(LinkEvents):
    def __init__(self) -> None:
        self.times: list[float] = []

    def pushed(self, push: Push) -> None:
        self.times.append(time.perf_counter())


if __name__ == "__main__":
    for delay in (0.0, 1.0):
        print(f"{delay:g} ms: {asking_ratio(delay, 100, 3):.2f} times faster", flush=True)
