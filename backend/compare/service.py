"""Time to a target: read from what is stored, never from what is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.compare import search
from backend.compare.search import Goal, Search, Tree, Wanted
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.metrics.charts import chart, walk
from backend.metrics.charts.walk import Line
from backend.metrics.models import MetricSeriesRow
from backend.metrics.store import pyramid
from backend.metrics.store.points import Array
from gradstream.api.charts import JobTarget, Reached, Targets
from gradstream.api.statuses import JobStatus
from gradstream.errors import Invalid
from gradstream.metrics import SENT


def targets(session: Session, asked: Sequence[UUID], metric: str, *, at_least: float | None, at_most: float | None) -> Targets:
    """Reads one state of the database if the transaction does; as often for many jobs as for one. Raises: Invalid."""
    goal, wanted = _goal(at_least, at_most), list(dict.fromkeys(asked))
    rows = {row.id: row for row in jobs.several(session, wanted)}
    lines = chart.lines_of(session, list(rows), [metric, SENT.name])
    searches = [_target(row, lines[row.id], metric, goal) for row in rows.values()]
    found = search.together(searches, partial(_read, session))
    found.sort(key=lambda item: item.reached.seconds if item.reached else math.inf)
    missing = [job_id for job_id in wanted if job_id not in rows]
    return Targets(metric=metric, at_least=at_least, at_most=at_most, items=found, missing=missing)


def _goal(at_least: float | None, at_most: float | None) -> Goal:
    if at_least is not None and at_most is None:
        return Goal(at_least, rising=True)
    if at_most is not None and at_least is None:
        return Goal(at_most, rising=False)
    raise Invalid("A target is reached from below or from above: give one of 'at_least' and 'at_most'.")


def _target(job: JobRow, lines: Sequence[Line], metric: str, goal: Goal) -> Search[JobTarget]:
    measured = [line for line in lines if line.row.name == metric]
    rolled_back = walk.rolled_back_from(measured, "samples")
    pairs = [(line, tree) for line, limit in zip(measured, rolled_back, strict=True) for tree in _trees(line, limit)]
    trees = [tree for _, tree in pairs]
    hit = yield from search.first(trees, goal)
    best = yield from search.best(trees, goal)
    before = (yield from search.newest_before(trees, float(hit[1]["time"]))) if hit else None
    sent = [tree for line in lines if line.row.name == SENT.name for tree in _trees(line)]
    sent_bytes = (yield from search.total(sent, float(hit[1]["time"]))) if hit else 0.0
    return JobTarget(
        job=job.id,
        name=job.name,
        strategy=job.strategy,
        status=JobStatus(job.status),
        best=best,
        reached=hit and _reached(job, pairs[hit[0]][0].row, hit[1], sent_bytes, before),
    )


def _reached(job: JobRow, series: MetricSeriesRow, point: Any, sent_bytes: float, before: int | None) -> Reached:
    time, began = float(point["time"]), (job.started_at or job.created_at).timestamp()
    return Reached(
        value=float(point["value"]),
        time=time,
        seconds=time - began,
        sent_bytes=sent_bytes,
        samples=int(point["samples"]),
        samples_before=before,
        step=int(point["step"]),
        version=int(point["version"]),
        attempt=series.attempt,
        source=series.source,
        rank=series.rank,
    )


def _trees(line: Line, rolled_back_from: float = math.inf) -> list[Tree]:
    """Return a tree of the points in blocks, and one of the waiting points, as if those were in blocks."""
    trees = []
    if line.folded is not None:
        trees.append(Tree(line.row.folded, line.folded, line.row.id, rolled_back_from))
    if len(line.waiting):
        grown = pyramid.grow(0, None, {}, line.waiting)
        trees.append(Tree(len(line.waiting), grown.summary, grown.blocks, rolled_back_from))
    return trees


def _read(session: Session, wanted: Sequence[Wanted]) -> list[Array]:
    """Read the wanted blocks in one statement."""
    keys = [(each.tree.blocks, each.level, each.number) for each in wanted if isinstance(each.tree.blocks, int)]
    stored = iter(chart.read(session, keys))
    return [next(stored) if isinstance(tree.blocks, int) else tree.blocks[level, number] for tree, level, number in wanted]
