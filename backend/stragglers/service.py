"""The stragglers of a job, from the stored times of its pushes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import ProcessRow
from backend.metrics.charts.timings import CellSums, sum_in_cells
from backend.metrics.store.points import Array
from backend.nodes import service as nodes
from backend.progress.attempt_span import AttemptSpan
from backend.progress.state import Folded
from backend.stragglers import diagnosis
from backend.stragglers.causes import WorkerMachine
from backend.stragglers.cells import PARTS, WorkerCells, worker_cells
from backend.stragglers.diagnosis import Measured
from gradstream import metrics
from gradstream.api.statuses import JobStatus
from gradstream.api.stragglers import Stragglers
from gradstream.progress.process_summary import ProcessSummary
from gradstream.spec import JobSpec

_MOST_CELLS, _FEWEST_CELLS, _ALL_CELLS = 120, 24, 4800
"""Cells of time for few and for many workers, and of all workers together: a request stays cheap."""
_SHORTEST = 1.0
"""Seconds of a cell."""
_METRICS = {f"time/{name}": name for name in PARTS} | {metrics.ON_CORE.name: "on_core"}


@dataclass(frozen=True, slots=True)
class _Axis:
    start: float
    width: float
    count: int

    @classmethod
    def of(cls, span: AttemptSpan, workers: int) -> _Axis:
        most = max(_FEWEST_CELLS, min(_MOST_CELLS, _ALL_CELLS // max(1, workers)))
        count = max(1, min(most, int(span.seconds / _SHORTEST)))
        return cls(span.began, span.seconds / count, count)

    @property
    def end(self) -> float:
        return self.start + self.width * self.count

    @property
    def edges(self) -> Array:
        found: Array = np.linspace(self.start, self.end, self.count + 1)
        return found


def stragglers(session: Session, job_id: UUID) -> Stragglers:
    """Raises: NotFound."""
    job = jobs.find(session, job_id)
    spec, kept = JobSpec.model_validate(job.spec), Folded.model_validate(job.progress)
    if kept.attempt != job.attempt or kept.throughput.began is None:
        return diagnosis.nothing(job.attempt, spec, "The workers of this attempt have not begun to train.")
    span = AttemptSpan.of(kept.summaries, kept.throughput.began[0], kept.remaining.left)
    if spec.roles.worker.count < 2 or span.seconds <= 0:
        return diagnosis.nothing(job.attempt, spec, "No worker has made two pushes.")
    axis = _Axis.of(span, spec.roles.worker.count)
    sums = sum_in_cells(session, job_id, job.attempt, list(_METRICS), axis.start, axis.end, axis.count)
    if not sums and kept.summaries.processes:
        return diagnosis.nothing(job.attempt, spec, "The recorded times are not stored any more.")
    rows = [row for row in job_rows.processes(session, job_id, job.attempt) if row.role == "worker"]
    running = job.status == JobStatus.RUNNING
    return diagnosis.diagnose(
        Measured(
            job.attempt,
            spec,
            _workers(sums, kept, rows, axis),
            {rank: one for (name, rank), one in sums.items() if name == metrics.ON_CORE.name},
            kept.remaining.shares,
            axis.start,
            axis.width,
            span.seconds,
            _left(kept, running=running),
            kept.remaining.left,
            running,
            _machines(session, spec, kept, rows, running=running),
            _silent(kept) if running else {},
            kept.throughput.mean,
            kept.passes.follows,
        )
    )


def _left(kept: Folded, *, running: bool) -> float | None:
    if running:
        return kept.remaining.seconds(kept.summaries)
    return 0.0 if kept.done is not None and kept.done > 1 - 1e-9 else None


def _workers(
    sums: Mapping[tuple[str, int], CellSums], kept: Folded, rows: Sequence[ProcessRow], axis: _Axis
) -> dict[int, WorkerCells]:
    by_rank: dict[int, dict[str, CellSums]] = defaultdict(dict)
    for (name, rank), one in sums.items():
        by_rank[rank][_METRICS[name]] = one
    found = dict[int, WorkerCells]()
    for rank, parts in by_rank.items():
        summary = kept.summaries.worker(rank)
        steps = summary.steps / summary.pushes if summary and summary.steps else 1.0
        parts.pop("on_core", None)
        cells = worker_cells(parts, axis.edges, steps, kept.remaining.left.get(rank), _away(rank, rows))
        if cells is not None:
            found[rank] = cells
    return found


def _away(rank: int, rows: Sequence[ProcessRow]) -> list[float]:
    """Return when an incarnation of a worker ended that another one followed, in seconds since the epoch."""
    mine = sorted((row for row in rows if row.rank == rank), key=lambda row: row.incarnation)
    return [row.ended_at.timestamp() for row in mine[:-1] if row.ended_at]


def _machines(
    session: Session, spec: JobSpec, kept: Folded, rows: Sequence[ProcessRow], *, running: bool
) -> dict[int, WorkerMachine]:
    """By rank. The load of a machine is that of now, so it counts while the job runs."""
    newest = {row.rank: row for row in sorted(rows, key=lambda row: row.incarnation)}
    there = {node.name: node for node in nodes.all_nodes(session)}
    on_node: dict[str, list[int]] = defaultdict(list)
    for rank, row in newest.items():
        on_node[row.node].append(rank)
    found = {}
    for rank, row in newest.items():
        ranks, node = on_node[row.node], there.get(row.node)
        summaries = [one for other in ranks if (one := kept.summaries.worker(other))]
        cores = max((one.last.get("cores", 0.0) for one in summaries), default=0.0)
        threads, load = len(ranks) * spec.roles.worker.cores, node.load if node and running else None
        found[rank] = WorkerMachine(row.node, bool(row.gpus), len(ranks), threads, cores, load, node.cpus if node else 0)
    return found


_OVERDUE = 5.0
"""Usual times between two pushes after which a worker is silent, and at least as many seconds."""


def _silent(kept: Folded) -> dict[int, float]:
    """Return the seconds since the last push of each worker that is long overdue, while some other worker still pushes."""
    workers = {
        rank: one for rank in kept.remaining.shares if rank not in kept.remaining.left and (one := kept.summaries.worker(rank))
    }
    newest = max((one.since for one in workers.values()), default=0.0)
    return {rank: newest - one.since for rank, one in workers.items() if _is_overdue(one, newest)}


def _is_overdue(one: ProcessSummary, newest: float) -> bool:
    return bool(one.since) and newest - one.since > _OVERDUE * max(one.pause, 1.0)
