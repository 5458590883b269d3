"""Times of a job's pushes in equal cells of time, by worker, from the stored points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from backend.metrics import repository
from backend.metrics.charts import chart, walk
from backend.metrics.charts.columns import Grid
from backend.metrics.charts.walk import Line
from backend.metrics.store.points import Array


@dataclass(frozen=True, slots=True)
class CellSums:
    """Points of one metric of one worker, in cells, and as sums that grow."""

    count: Array
    """Points in each cell."""
    total: Array
    """Sum of their values."""
    times: Array
    """Times of some points, the first and the last among them, in seconds since the epoch."""
    counts: Array
    """Points up to each of these times."""
    sums: Array
    """Sum of their values."""


def sum_in_cells(
    session: Session, job_id: UUID, attempt: int, names: Sequence[str], start: float, end: float, cells: int
) -> dict[tuple[str, int], CellSums]:
    """Return the sums of these metrics by name and rank, over equal cells of [start, end]. A metric without a point has none."""
    lines = [
        line
        for line in chart.lines(session, job_id, names)
        if line.row.attempt == attempt and line.row.source == f"worker-{line.row.rank}"
    ]
    if not lines:
        return {}
    found = walk.read(partial(repository.blocks, session), lines, Grid("time", start, end, cells), np.full(len(lines), walk.NEVER))
    parts = np.split(found, np.searchsorted(found["series"], np.arange(1, len(lines))))
    return {(line.row.name, line.row.rank): _sums(part, line, cells) for line, part in zip(lines, parts, strict=True) if len(part)}


def _sums(part: Array, line: Line, cells: int) -> CellSums:
    """The first point of each cell has its exact place, and so has the last point of all."""
    count, total = np.zeros(cells), np.zeros(cells)
    count[part["column"]], total[part["column"]] = part["count"], part["sum"]
    counts, sums = np.cumsum(part["count"]), np.cumsum(part["sum"])
    times, last = part["x"], line.ends("time")[1]
    before_counts, before_sums = counts - part["count"] + 1, sums - part["sum"] + np.nan_to_num(part["first"])
    if last > times[-1]:
        times, before_counts, before_sums = (
            np.append(times, last),
            np.append(before_counts, counts[-1]),
            np.append(before_sums, sums[-1]),
        )
    return CellSums(count, total, times, before_counts, before_sums)
