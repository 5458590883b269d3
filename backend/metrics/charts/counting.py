"""The response of `GET /jobs/{id}/distribution`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.jobs import service as jobs
from backend.metrics import repository
from backend.metrics.charts import chart, distribution, walk
from backend.metrics.charts.columns import Grid
from backend.metrics.charts.distribution import Bins, quantile
from backend.metrics.charts.drawing import Drawing, tag
from backend.metrics.charts.walk import Line
from backend.metrics.store.points import Array
from gradstream.api.charts import Axis


@dataclass(frozen=True, slots=True)
class DistributionQuery:
    name: str
    axis: Axis
    start: float | None
    end: float | None


def draw(session: Session, job_id: UUID, asked: DistributionQuery, known_tags: str | None) -> Drawing:
    """Reads one state of the database if the transaction does. Raises: NotFound."""
    job = jobs.find(session, job_id)
    store = repository.store(session, job_id)
    forgotten = store.forgotten_at if store else None
    rows = repository.series(session, job_id, [asked.name])
    its_tag = tag(asked, [(row.id, row.count) for row in rows], forgotten)
    if known_tags is not None and its_tag in known_tags:
        return Drawing(its_tag, None)
    answer = {
        "seq": job.feed,
        "forgotten_at": forgotten.isoformat() if forgotten else None,
        "name": asked.name,
        "x": asked.axis.value,
        **_counted(session, chart.lines(session, job_id, [asked.name]), asked),
    }
    return Drawing(its_tag, json.dumps(answer, separators=(",", ":"), allow_nan=False).encode())


def _counted(session: Session, lines: Sequence[Line], asked: DistributionQuery) -> dict[str, Any]:
    axis = asked.axis.value
    rolled_back = walk.rolled_back_from(lines, axis)
    there = walk.extent(lines, axis, rolled_back)
    start, end = asked.start, asked.end
    if there is not None:
        start = there[0] if start is None else start
        end = max(there[1], start) if end is None else end
    grid = Grid(axis, start or 0.0, end or 0.0, 1)
    found = distribution.count(partial(repository.blocks, session), partial(repository.tallies, session), lines, grid, rolled_back)
    into = found.bins or Bins(0.0, 1.0, 0)
    series = [
        {
            "attempt": line.row.attempt,
            "source": line.row.source,
            "rank": line.row.rank,
            "total": line.row.count,
            "counts": counts.tolist(),
            **_spread(into, counts, int(odd)),
        }
        for line, counts, odd in zip(lines, found.counts, found.odd, strict=True)
    ]
    return {
        "from": start,
        "to": end,
        "low": into.start if found.bins else None,
        "width": into.width,
        "bins": into.count,
        "series": series,
        **_spread(into, found.counts.sum(axis=0), int(found.odd.sum())),
    }


def _spread(into: Bins, counts: Array, odd: int) -> dict[str, float | int | None]:
    p50, p90, p99 = (quantile(into, counts, share) for share in (0.5, 0.9, 0.99))
    return {"count": int(counts.sum()), "odd": odd, "p50": p50, "p90": p90, "p99": p99}
