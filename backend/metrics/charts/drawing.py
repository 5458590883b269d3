"""The response of `GET /jobs/{id}/chart`."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from backend.jobs import service as jobs
from backend.metrics import repository
from backend.metrics.charts import chart, walk
from backend.metrics.charts.columns import Grid, drawn
from backend.metrics.charts.walk import Line
from gradstream.api.charts import Axis


@dataclass(frozen=True, slots=True)
class ChartQuery:
    names: tuple[str, ...]
    axis: Axis
    start: float | None
    end: float | None
    columns: int


@dataclass(frozen=True, slots=True)
class Drawing:
    tag: str
    """ETag of the body; it covers the request and the state of the series."""
    body: bytes | None
    """JSON; None: the client has it."""


def draw(session: Session, job_id: UUID, asked: ChartQuery, known_tags: str | None) -> Drawing:
    """Reads one state of the database if the transaction does. Raises: NotFound."""
    job = jobs.find(session, job_id)
    store = repository.store(session, job_id)
    forgotten = store.forgotten_at if store else None
    rows = repository.series(session, job_id, asked.names)
    its_tag = tag(asked, [(row.id, row.count) for row in rows], forgotten)
    if known_tags is not None and its_tag in known_tags:
        return Drawing(its_tag, None)
    lines = chart.lines(session, job_id, asked.names)
    charts = [_chart(session, name, [line for line in lines if line.row.name == name], asked) for name in asked.names]
    answer = {"seq": job.feed, "forgotten_at": forgotten.isoformat() if forgotten else None, "charts": charts}
    return Drawing(its_tag, json.dumps(answer, separators=(",", ":"), allow_nan=False).encode())


def draw_several(session: Session, job_ids: Sequence[UUID], name: str, asked: ChartQuery) -> bytes:
    """Return the charts of one metric of several jobs as JSON, in this order. A job that is not there has no series."""
    lines = chart.lines_of(session, list(dict.fromkeys(job_ids)), [name])
    items = [_chart(session, name, lines.get(job_id, []), asked) for job_id in job_ids]
    return json.dumps({"items": items}, separators=(",", ":"), allow_nan=False).encode()


def tag(asked: object, *state: object) -> str:
    return f'W/"{hashlib.sha256(repr((asked, state)).encode()).hexdigest()[:32]}"'


def _chart(session: Session, name: str, lines: Sequence[Line], asked: ChartQuery) -> dict[str, Any]:
    axis = asked.axis.value
    rolled_back = walk.rolled_back_from(lines, axis)
    there = walk.extent(lines, axis, rolled_back)
    if there is None:
        return {"name": name, "x": axis, "from": asked.start, "to": asked.end, "series": []}
    start = asked.start if asked.start is not None else float(there[0])
    end = asked.end if asked.end is not None else max(float(there[1]), start)
    found = walk.read(partial(repository.blocks, session), lines, Grid(axis, start, end, asked.columns), rolled_back)
    parts = np.split(found, np.searchsorted(found["series"], np.arange(1, len(lines))))
    series = [
        {
            "attempt": line.row.attempt,
            "source": line.row.source,
            "rank": line.row.rank,
            "total": line.row.count,
            "columns": drawn(part),
        }
        for line, part in zip(lines, parts, strict=True)
    ]
    return {"name": name, "x": axis, "from": start, "to": end, "series": series}


def compressed(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=4, mtime=0)
