"""What the page is measured on: database, Redis, API and ingester, a job of eight workers that reports fifty metrics four times
a second, and a Chromium."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from backend.jobs import repository as job_rows
from backend.jobs.models import AttemptRow
from backend.jobs.states import switch
from backend.metrics import ingest
from backend.platform import Platform
from backend.scheduler.controller import BUSY_TICK
from backend.settings import BackendSettings
from backend.users.auth import COOKIE
from benchmarks import storing
from benchmarks.common import PASSWORD
from benchmarks.storing import Place
from gradstream.api.statuses import AttemptStatus, JobStatus
from gradstream.metrics import Metric
from gradstream.process.order import PlaneAccess, plane_id
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from gradstream.wire.telemetry.reporter import EVERY, Reporter

BUILT = Path(__file__).parents[2] / "backend/page"
WORKERS, METRICS, BATCH = 8, 50, 64
NAMES = ("train/loss", "train/samples_per_second", *(f"model/layer_{number}" for number in range(METRICS - 2)))
PULSE = "eval/pulse"
"""Reported for itself, not four times a second: whoever reports it watches for it."""
HISTORY = 500
"""Steps that each worker made before the page is opened."""
_AT_ONCE = 250
_STEPS_OF_INCARNATION = 400
"""Steps that no incarnation of a worker exceeds."""
TIMEOUT = 120.0
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Stage:
    at: Place
    client: httpx.Client
    api_pid: int
    job_id: UUID
    name: str
    incarnations: Iterator[int]

    @cached_property
    def url(self) -> str:
        return str(self.client.base_url).split("/api/")[0]

    @cached_property
    def token(self) -> str:
        return str(self.client.headers["Authorization"]).removeprefix("Bearer ")

    @cached_property
    def cookie(self) -> dict[str, str]:
        """Of a browser that is signed in."""
        answer = httpx.post(f"{self.url}/api/v1/session", json={"token": self.token}, trust_env=False)
        answer.raise_for_status()
        return {"name": COOKIE, "value": answer.cookies[COOKIE], "url": self.url}

    @cached_property
    def access(self) -> PlaneAccess:
        return PlaneAccess(url=self.at.redis.url, password=PASSWORD)

    @property
    def j(self) -> str:
        return plane_id(self.job_id, 1)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """The workers report while this lasts. Each time they begin another incarnation."""
        begun = SPAWN.Event()
        with process(_report, self.access, self.j, next(self.incarnations), begun):
            assert begun.wait(TIMEOUT), "the workers did not begin to report in time"
            yield


@contextmanager
def stage() -> Iterator[Stage]:
    if not (BUILT / "index.html").is_file():
        raise SystemExit("the page has not been built: make page")
    with storing.place() as bare:
        at = replace(bare, settings=bare.settings.model_copy(update={"page_dir": BUILT}))
        with storing.api(at) as (client, pid):
            job_id = UUID(storing.submit(client, 1)[0])
            name = _run(at, job_id)
            made = Stage(at, client, pid, job_id, name, itertools.count(1))
            with process(_ingest, at.settings, job_id):
                _past(at, made.j)
                yield made


def _run(at: Place, job_id: UUID) -> str:
    """The job as it stands when all its processes run."""
    plane.create(at.platform.plane, plane_id(job_id, 1), password=PASSWORD)
    with at.platform.database.transaction() as session:
        job = job_rows.lock(session, job_id)
        assert job is not None
        job.attempt = 1
        session.add(AttemptRow(job_id=job_id, number=1, status=AttemptStatus.RUNNING, plane_open=True))
        for status in (JobStatus.STARTING, JobStatus.RUNNING):
            switch(session, job, status, actor="controller", message="All processes run.")
        return job.name


def _past(at: Place, j: str) -> None:
    """What the workers have measured so far, stored."""
    began = time.time() - HISTORY * EVERY
    for first in range(0, HISTORY, _AT_ONCE):
        for rank in range(WORKERS):
            steps = range(first, first + _AT_ONCE)
            packed = records.pack([_record(began + EVERY * step, rank, step) for step in steps])
            at.platform.plane.xadd(keys.metrics(j), {"source": f"worker-{rank}.0", "batch": first, "points": packed})
    until = time.monotonic() + TIMEOUT
    while at.platform.plane.xlen(keys.metrics(j)):
        assert time.monotonic() < until, "what the workers measured was not stored in time"
        time.sleep(0.1)


def _record(when: float, rank: int, step: int) -> tuple[Any, ...]:
    values = [part for place, name in enumerate(NAMES) for part in (name, value(place, rank, step))]
    return (when, rank, step, BATCH * step, WORKERS * step, *values)


def value(place: int, rank: int, step: int) -> float:
    """Falls, and has noise: no two look alike."""
    noise = (step * 7919 + rank * 104729 + place * 1299709) % 1000 / 1000
    return (1 + place % 7) / (1 + step / 100) + 0.1 * rank + 0.3 * noise


@contextmanager
def process(work: Any, *given: Any) -> Iterator[None]:
    """`work(*given, stop)` in a process of its own, until `stop` is set."""
    stop = SPAWN.Event()
    process = SPAWN.Process(target=work, args=(*given, stop), daemon=True)
    process.start()
    try:
        yield
    finally:
        stop.set()
        process.join(15)
        if process.is_alive():
            process.kill()


def _ingest(settings: BackendSettings, job_id: UUID, stop: Any) -> None:
    """As the controller does, as often as it does."""
    platform = Platform.open(settings, pool_size=2)
    while not stop.is_set():
        began = time.monotonic()
        ingest.ingest(platform.database, platform.plane, job_id, 1)
        stop.wait(max(0.0, BUSY_TICK - (time.monotonic() - began)))
    platform.close()


def _report(access: PlaneAccess, j: str, incarnation: int, begun: Any, stop: Any) -> None:
    """Report points live, as incarnations 1, 2, ... of the workers; the stored points are those of incarnation 0."""
    metrics = [Metric(name, name, "1", "") for name in NAMES]
    reporters = [Reporter(access, j, f"worker-{rank}.{incarnation}") for rank in range(WORKERS)]
    began, first = time.monotonic(), HISTORY + (incarnation - 1) * _STEPS_OF_INCARNATION
    step = first
    begun.set()
    while not stop.wait(max(0.0, began + (step - first) * EVERY - time.monotonic())):
        for rank, reporter in enumerate(reporters):
            values = {metric: value(place, rank, step) for place, metric in enumerate(metrics)}
            reporter.points(values, rank=rank, step=step, samples=BATCH * step, version=WORKERS * step)
        step += 1
    for reporter in reporters:
        reporter.close()
