"""A job at one glance, from its row, its attempts, its processes and the events of its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.bundles import service as bundles
from backend.files import FileStore
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.history_schemas import CheckpointRef
from backend.jobs.models import AttemptRow, EventRow, JobRow, ProcessRow
from backend.overview import loads
from backend.overview.effective import effective_values
from backend.overview.schemas import AttemptOverview, Cost, Overview, ProcessFailure, Speed
from backend.overview.shortest import shortest
from backend.overview.speedup import Seat, speed
from backend.progress.attempt_span import AttemptSpan
from backend.progress.state import Folded
from gradstream.api.jobs import Config
from gradstream.api.statuses import AttemptStatus
from gradstream.events import EventKind
from gradstream.process.exits import GOOD, ExitReason
from gradstream.process.order import label
from gradstream.progress.process_summary import ProcessSummaries
from gradstream.spec import JobSpec


def overview(session: Session, job_id: UUID) -> Overview:
    """Raises: NotFound."""
    job = jobs.find(session, job_id)
    spec, kept = JobSpec.model_validate(job.spec), Folded.model_validate(job.progress)
    found = kept.summaries
    attempts, processes = job_rows.attempts(session, job_id), job_rows.processes(session, job_id)
    live = kept if kept.attempt == job.attempt else Folded(summaries=ProcessSummaries(ledger=found.ledger))
    here, begun = live.summaries, live.throughput.began
    axis = AttemptSpan.of(here, begun[0] if begun else 0.0, live.remaining.left)
    checkpoints = job_rows.events(session, job_id, kinds=[EventKind.CHECKPOINT]) if len(attempts) > 1 else []
    return Overview(
        attempt=job.attempt,
        attempts=_attempts(job, attempts, found, checkpoints),
        failures=failures(processes),
        best=loads.best(found, spec, job.started_at),
        speed=_speed(job, spec, live, processes),
        seconds=axis.seconds,
        workers=loads.workers(here, axis, live.slow, _recovering(job, processes), _nodes_of_peers(job, spec, processes)),
        servers=loads.servers(here, live.figures.loads()),
        ledger=loads.ledger(found.ledger),
    )


def _recovering(job: JobRow, processes: Sequence[ProcessRow]) -> dict[int, float]:
    """Return the seconds from the end of each worker's processes until the next ones ran, by rank."""
    mine = (row for row in processes if row.role == "worker" and row.attempt == job.attempt)
    rows = sorted(mine, key=lambda row: row.incarnation)
    found: dict[int, float] = {}
    for rank in {row.rank for row in rows}:
        for row, then in pairwise(row for row in rows if row.rank == rank):
            if row.ended_at and then.started_at:
                found[rank] = found.get(rank, 0.0) + max(0.0, (then.started_at - row.ended_at).total_seconds())
    return found


def _nodes_of_peers(job: JobRow, spec: JobSpec, processes: Sequence[ProcessRow]) -> dict[str, str]:
    """Return the node of each process of a group by its label, if groups are on several machines."""
    roles, found = spec.roles, dict[str, str]()
    if roles.worker.group.machines == 1:
        return found
    each = roles.worker.group.on_one_machine.peers
    for row in sorted(processes, key=lambda row: row.incarnation):
        worker = roles.worker_of(row.role, row.rank)
        if row.attempt == job.attempt and worker is not None:
            first = each * roles.machine_of(row.role, row.rank)
            found |= {f"{label('worker', worker)}/{first + number}": row.node for number in range(each)}
    return found


def _speed(job: JobRow, spec: JobSpec, kept: Folded, processes: Sequence[ProcessRow]) -> Speed | None:
    threads, shares = spec.roles.worker.cores, sum(kept.remaining.shares.values())
    seats = {
        row.rank: Seat(row.node, bool(row.gpus), threads)
        for row in processes
        if row.role == "worker" and row.attempt == job.attempt
    }
    found = {rank: one for rank in seats if (one := kept.summaries.worker(rank))}
    examples = kept.total_samples / shares if kept.total_samples and shares else spec.batch_size
    return speed(found, seats, kept.throughput.mean, examples, spec.roles.worker.count)


def config(session: Session, files: FileStore, job_id: UUID) -> Config:
    """Raises: NotFound."""
    job = jobs.find(session, job_id)
    given, known = JobSpec.model_validate(job.spec), jobs.spec_of(job)
    full = known.model_dump(mode="json", exclude_none=True)
    return Config(source=job.source, overrides=job.overrides, short=shortest(given), full=full, effective=effective(files, job))


def effective(files: FileStore, job: JobRow) -> dict[str, Any]:
    """Return the values that the job runs with, to compare jobs by."""
    spec = jobs.spec_of(job).model_copy(update={"priority": job.priority})
    return effective_values(spec, bundles.argument_defaults(files, job.bundle, spec.workload.entrypoint))


def _attempts(
    job: JobRow, rows: Sequence[AttemptRow], found: ProcessSummaries, checkpoints: Sequence[EventRow]
) -> list[AttemptOverview]:
    began: list[datetime] = [job.created_at, *(row.ended_at or row.started_at for row in rows)]
    costs = {row.number: _cost(row, then, found, checkpoints) for row, then in pairwise(rows)}
    return [
        AttemptOverview(
            number=row.number,
            status=AttemptStatus(row.status),
            reason=row.reason,
            message=row.message,
            queued_at=queued_at,
            started_at=row.started_at,
            running_at=row.running_at,
            ended_at=row.ended_at,
            checkpoint=row.checkpoint,
            resumed_from=CheckpointRef.model_validate(row.resumed_from, from_attributes=True) if row.resumed_from else None,
            cost=costs.get(row.number),
        )
        for row, queued_at in zip(rows, began, strict=False)
    ]


def _cost(row: AttemptRow, then: AttemptRow, found: ProcessSummaries, checkpoints: Sequence[EventRow]) -> Cost:
    reached, kept = found.reached.get(row.number), _samples_at(then, checkpoints)
    return Cost(
        seconds=(then.running_at - row.ended_at).total_seconds() if then.running_at and row.ended_at else None,
        pushes=found.rolled_back.get(row.number, 0),
        samples=max(0, reached - kept) if reached is not None and kept is not None else None,
    )


def _samples_at(row: AttemptRow, checkpoints: Sequence[EventRow]) -> int | None:
    """Return the samples that the center had seen when this attempt began; None: its checkpoint does not say."""
    if row.resumed_from is None:
        return 0
    wanted = (row.resumed_from.attempt, row.resumed_from.checkpoint)
    told = (event.data for event in checkpoints)
    return next((data["samples"] for data in told if (data["attempt"], data["checkpoint"]) == wanted), None)


def failures(rows: Sequence[ProcessRow]) -> list[ProcessFailure]:
    """Return process failures, oldest first. After the one that ends an attempt, its others are consequences and not listed."""
    incarnations = {(row.attempt, row.role, row.rank, row.incarnation): row for row in rows}
    found: dict[int, list[ProcessRow]] = {}
    for row in sorted((row for row in rows if _failed(row)), key=lambda row: row.ended_at or row.assigned_at):
        listed = found.setdefault(row.attempt, [])
        if all(before.replaced for before in listed):
            listed.append(row)
    failed = [row for listed in found.values() for row in listed]
    return [_describe_failure(row, incarnations.get((row.attempt, row.role, row.rank, row.incarnation + 1))) for row in failed]


def _failed(row: ProcessRow) -> bool:
    return row.ended_at is not None and (row.reason is None or ExitReason(row.reason) not in GOOD)


def _describe_failure(row: ProcessRow, then: ProcessRow | None) -> ProcessFailure:
    assert row.ended_at is not None, "it has ended"
    there = then.started_at if then else None
    return ProcessFailure(
        process_id=row.id,
        label=row.label,
        attempt=row.attempt,
        incarnation=row.incarnation,
        at=row.ended_at,
        reason=row.reason,
        message=row.message,
        respawned=row.replaced,
        seconds=(there - row.ended_at).total_seconds() if there else None,
    )
