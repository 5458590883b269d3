"""Figures of jobs, one finite number each: the last, lowest or highest value of a metric, or a result of the whole job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from backend.jobs.lists.fields import HIGHEST, LOWEST
from backend.jobs.models import JobRow
from backend.metrics.charts import chart
from backend.metrics.charts.walk import Line

RESULTS = ("loss", "staleness", "seconds", "samples", "speed")
"""Training loss and staleness as lists show them; seconds from the first update to the end, samples, and samples per second."""


def figures(session: Session, rows: Sequence[JobRow], figure: str) -> dict[UUID, float]:
    """Return the figure of each job that has a finite one. A metric may be any; the value of all workers together."""
    if figure in RESULTS:
        found = {row.id: _result(row, figure) for row in rows}
    else:
        which, name = (figure[:4], figure[4:]) if figure.startswith((LOWEST, HIGHEST)) else ("last", figure)
        lines = chart.lines_of(session, [row.id for row in rows], [name])
        found = {row.id: _measured(lines[row.id], which) for row in rows}
    return {job: value for job, value in found.items() if math.isfinite(value)}


def _result(row: JobRow, figure: str) -> float:
    own = {"loss": row.loss, "staleness": row.mean_staleness, "samples": row.progress.get("samples", 0)}
    if figure in own:
        return _number(own[figure])
    seconds = _seconds(row.progress, row.ended_at)
    return seconds if figure == "seconds" else _number(own["samples"]) / seconds if seconds > 0 else math.nan


def _seconds(progress: Mapping[str, str | None], ended_at: datetime | None) -> float:
    first = progress.get("first_step_at")
    return (ended_at - datetime.fromisoformat(first)).total_seconds() if first and ended_at else math.nan


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _measured(lines: Sequence[Line], which: str) -> float:
    if which == "last":
        newest = {(line.row.source, line.row.rank): line for line in sorted(lines, key=lambda line: line.row.attempt)}
        last = [float(line.summary["last"][-1]) for line in newest.values()]
        return math.fsum(last) / len(last) if last and all(map(math.isfinite, last)) else math.nan
    of, name = (np.fmin, "low") if which == LOWEST else (np.fmax, "high")
    return float(of.reduce([of.reduce(line.summary[name], initial=np.nan) for line in lines], initial=np.nan))
