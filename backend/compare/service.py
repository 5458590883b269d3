"""Time to a target: read from what is stored, never from what is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.compare import search
from backend.compare.schemas import JobTarget, Reached, Targets
from backend.compare.search import Goal, Tree
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.jobs.statuses import JobStatus
from backend.metrics import chart, pyramid, walk
from backend.metrics.models import MetricSeriesRow
from backend.metrics.walk import Line
from gradstream.errors import Invalid, NotFound
from gradstream.metrics import SENT


def targets(session: Session, asked: Sequence[UUID], metric: str, *, at_least: float | None, at_most: float | None) -> Targets:
    """Reads one state of the database if the transaction does. Raises: Invalid."""
    goal = _goal(at_least, at_most)
    found: list[JobTarget] = []
    missing: list[UUID] = []
    for job_id in dict.fromkeys(asked):
        try:
            found.append(_target(session, jobs.find(session, job_id), metric, goal))
        except NotFound:
            missing.append(job_id)
    found.sort(key=lambda item: item.reached.seconds if item.reached else math.inf)
    return Targets(metric=metric, at_least=at_least, at_most=at_most, items=found, missing=missing)


def _goal(at_least: float | None, at_most: float | None) -> Goal:
    if at_least is not None and at_most is None:
        return Goal(at_least, rising=True)
    if at_most is not None and at_least is None:
        return Goal(at_most, rising=False)
    raise Invalid("A target is reached from below or from above: give one of 'at_least' and 'at_most'.")


def _target(session: Session, job: JobRow, metric: str, goal: Goal) -> JobTarget:
    lines = chart.lines(session, job.id, [metric])
    undone = walk.undone_from(lines, "samples")
    pairs = [(line, tree) for line, cut in zip(lines, undone, strict=True) for tree in _trees(session, line, cut)]
    trees = [tree for _, tree in pairs]
    hit = search.first(trees, goal)
    return JobTarget(
        job=job.id, name=job.name, strategy=job.strategy, status=JobStatus(job.status), best=search.best(trees, goal),
        reached=hit and _reached(session, job, pairs[hit[0]][0].row, hit[1]),
    )  # fmt: skip


def _reached(session: Session, job: JobRow, series: MetricSeriesRow, point: Any) -> Reached:
    time, began = float(point["time"]), (job.started_at or job.created_at).timestamp()
    return Reached(
        value=float(point["value"]), time=time, seconds=time - began, sent_bytes=_sent(session, job.id, time),
        samples=int(point["samples"]), step=int(point["step"]), version=int(point["version"]),
        attempt=series.attempt, source=series.source, rank=series.rank,
    )  # fmt: skip


def _sent(session: Session, job_id: UUID, until: float) -> float:
    lines = chart.lines(session, job_id, [SENT.name])
    return search.total([tree for line in lines for tree in _trees(session, line)], until)


def _trees(session: Session, line: Line, undone_from: float = math.inf) -> list[Tree]:
    """What is in blocks, and what is not yet, as if it were."""
    trees = []
    if line.folded is not None:
        trees.append(Tree(line.row.folded, line.folded, partial(chart.block, session, line), undone_from))
    if len(line.waiting):
        grown = pyramid.grow(0, None, {}, line.waiting)
        trees.append(Tree(len(line.waiting), grown.summary, lambda level, number: grown.blocks[level, number], undone_from))
    return trees
