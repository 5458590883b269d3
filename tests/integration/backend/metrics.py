"""Metrics of jobs, as processes would send them, and as the API gives them back."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import httpx

from backend.jobs import service as jobs
from backend.metrics import ingest, service
from backend.metrics.schemas import Charts
from backend.platform import Platform
from gradstream.metrics import LOSS, STALENESS, Point
from gradstream.process.order import plane_id
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records

STEPS = 1000
WORKERS = 3


def point(
    name: str, value: float, *, rank: int = 0, step: int = 1, samples: int = 0, version: int = 0, time: float = 1000.0
) -> Point:
    return Point(name, rank, step, samples, version, time, value)


class Stream:
    """The metrics of a job's first attempt, as its processes would send them."""

    def __init__(self, platform: Platform, job_id: UUID) -> None:
        self.platform, self.job_id, self.j = platform, job_id, plane_id(job_id, 1)
        plane.create(platform.plane, self.j, password="a password")

    def send(self, source: str, batch: int, *points: Point) -> None:
        fields = {"source": source, "batch": batch, "points": records.pack_points(list(points))}
        self.platform.plane.xadd(keys.metrics(self.j), fields)  # type: ignore[arg-type]

    @property
    def waiting(self) -> int:
        return int(self.platform.plane.xlen(keys.metrics(self.j)))

    def ingest(self) -> int:
        return ingest.ingest(self.platform.database, self.platform.plane, self.job_id, 1)


def stored(api: httpx.Client, job_id: UUID, **wanted: object) -> list[tuple[str, int, float | None]]:
    """(source, step, value) of every stored point."""
    items = api.get(f"/jobs/{job_id}/metrics", params=wanted).json()["items"]  # type: ignore[arg-type]
    return [(batch["source"], p[2], p[6]) for batch in items for p in batch["points"]]


def measured(step: int, rank: int, *, name: str = LOSS.name) -> Point:
    value = math.nan if step == 7 else float((step * 37 + rank) % 101)
    return Point(name, rank, step, 32 * step, step // 2, 1e9 + step, value)


def store(platform: Platform, job_id: UUID, rank: int, steps: range, *, attempt: int = 1, number: int | None = None) -> None:
    points = [measured(step, rank, name=name) for step in steps for name in (LOSS.name, STALENESS.name)]
    with platform.database.transaction() as session:
        batch = (f"worker-{rank}.0", steps.start if number is None else number, points)
        service.store(session, jobs.lock(session, job_id), attempt, [batch])


def chart(api: httpx.Client, job_id: UUID, **asked: Any) -> dict[str, Any]:
    answer = api.get(f"/jobs/{job_id}/chart", params={"name": LOSS.name, **asked})
    assert answer.status_code == 200, answer.text
    Charts.model_validate_json(answer.content)
    [found] = answer.json()["charts"]
    return dict(found)
