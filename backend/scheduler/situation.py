"""The controller's knowledge about a job at one moment: plain values, on which `decide` works."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import exports
from backend.artifacts import service as artifacts
from backend.artifacts.models import ExportRow
from backend.db import now
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import AttemptRow, JobRow, ProcessRow
from backend.nodes import service as nodes
from backend.progress.state import Folded, checkpoint_watch, failed_exports, seconds_to_store
from gradstream.api.statuses import AttemptStatus, JobStatus, ProcessStatus
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.process.exits import FAILED_STARTS, GOOD, UNCHARGED, ExitReason
from gradstream.process.order import Role, plane_id
from gradstream.process.saving.exports import ExportManifest
from gradstream.spec import JobSpec, shard_count

SHARDED = "sharded"
"""Why an attempt ended: `roles.server.count: auto` has come to more than one shard."""
_NEVER_RAN = FAILED_STARTS | {"start_timeout"}
_INTENDED = (ExitReason.RESTARTED, SHARDED)


@dataclass(frozen=True, slots=True)
class PlacedProcess:
    id: UUID
    role: Role
    label: str
    running: bool
    ended: bool
    reason: ExitReason | None = None
    message: str = ""
    failed_starts: int = 0
    """Incarnations in a row, up to this one, that could not be started."""
    uncharged: int = 0
    """Incarnations of this attempt, with this one, that ended neither by the job's fault nor on purpose."""
    ended_at: float = 0.0
    """Seconds since the epoch, by the database's clock."""
    rank: int = 0

    @property
    def failed(self) -> bool:
        return self.ended and self.reason not in GOOD


@dataclass(frozen=True, slots=True)
class Situation:
    job_id: UUID
    status: JobStatus
    spec: JobSpec
    retries_used: int
    running_for: float
    """Seconds, of all attempts together; neither waiting nor starting counts."""
    attempt: int
    attempt_status: AttemptStatus | None
    attempt_age: float
    stop_posted: bool
    stop_overdue: float | None
    """While stopping: seconds since its processes should be dead; negative before."""
    processes: tuple[PlacedProcess, ...]
    """The live incarnation of each rank in the current attempt."""
    ended_for: float
    """Seconds since the last process ended."""
    checkpoint_requested: int
    since_checkpoint_request: float
    checkpoint_committed: int | None
    final_checkpoint: bool
    model: bool
    since_export_request: float = 0.0
    """Seconds since an export of this attempt was asked for, or since it runs."""
    export_under_way: bool = False
    export_is_current: bool = False
    """The newest export is committed, and has the newest version of the center that was reported."""
    export_retry_delay: float | None = None
    """Seconds from the request of an export that a server could not store to the next one; None: the newest has not failed."""
    awaited_checkpoint: int = 0
    """The checkpoint by samples that is being stored while others are skipped; 0: none is."""
    since_awaited: float = 0.0
    """Seconds since the first one was skipped for it."""
    to_store: float = 0.0
    """Seconds that it may take to store a vector of the center's size."""
    intended: int = 0
    """Earlier attempts that ended on purpose, while nothing was wrong."""
    failed_starts: int = 0
    """Attempts in a row, before this one, whose processes did not come to run."""
    shards: shard_count.ShardCount | None = None
    """The outcome of `roles.server.count: auto`, where it can be settled now and has not been."""

    @property
    def plane_id(self) -> str:
        return plane_id(self.job_id, self.attempt)

    @property
    def is_training(self) -> bool:
        return any(process.role == "worker" and process.running for process in self.processes)

    def group_of(self, process: PlacedProcess) -> list[PlacedProcess]:
        """Return the processes of a worker whose group is on several machines; else this process alone."""
        worker = self.spec.roles.worker_of(process.role, process.rank)
        if worker is None:
            return [process]
        return [each for each in self.processes if self.spec.roles.worker_of(each.role, each.rank) == worker]

    @property
    def failures(self) -> list[PlacedProcess]:
        """The processes that failed, but for peers whose lead has done its work: they are not needed any more."""
        return [each for each in self.processes if each.failed and not (each.role == "peers" and self._is_done(each))]

    def _is_done(self, peers: PlacedProcess) -> bool:
        return any(each.role == "worker" and each.ended and not each.failed for each in self.group_of(peers))

    @property
    def all_ended(self) -> bool:
        return all(process.ended for process in self.processes)


def load(session: Session, job: JobRow) -> Situation:
    moment = now(session)
    attempts = job_rows.attempts(session, job.id)
    attempt = attempts[-1] if attempts else None
    all_rows = job_rows.processes(session, job.id, job.attempt)
    rows = [row for row in all_rows if not row.replaced]
    since = _Since(moment)
    export, watch = exports.newest(session, job), checkpoint_watch(job.progress, job.attempt)
    return Situation(
        job_id=job.id,
        status=JobStatus(job.status),
        spec=jobs.spec_of(job),
        retries_used=job.retries_used,
        running_for=sum(_ran(each, moment) for each in attempts),
        attempt=job.attempt,
        attempt_status=AttemptStatus(attempt.status) if attempt else None,
        intended=sum(each.reason in _INTENDED for each in attempts),
        attempt_age=since(attempt.started_at if attempt else None),
        stop_posted=bool(attempt and attempt.stop_posted),
        stop_overdue=since(job.stop_at) if job.stop_at else None,
        processes=placed_processes(all_rows),
        failed_starts=_failed_attempts(attempts[:-1]),
        ended_for=min((since(row.ended_at) for row in rows if row.ended_at), default=0.0),
        checkpoint_requested=attempt.checkpoint_requested if attempt else 0,
        since_checkpoint_request=since(attempt.checkpoint_requested_at or attempt.running_at if attempt else None),
        checkpoint_committed=attempt.checkpoint if attempt else None,
        final_checkpoint=artifacts.is_committed(session, job.id, job.attempt, FINAL_CHECKPOINT),
        model=artifacts.has_model(session, job.id, job.attempt),
        since_export_request=since(export.asked_at if export else attempt.running_at if attempt else None),
        export_under_way=export is not None and export.committed_at is None,
        export_is_current=_is_current(export, job),
        export_retry_delay=failed_exports(job.progress, job.attempt).retry_delay(export.place) if export else None,
        awaited_checkpoint=watch.awaited,
        since_awaited=moment.timestamp() - watch.since if watch.awaited else 0.0,
        to_store=seconds_to_store(job.progress),
        shards=_choice(session, job, rows),
    )


def _is_current(export: ExportRow | None, job: JobRow) -> bool:
    if export is None or export.manifest is None:
        return False
    reported = Folded.model_validate(job.progress)
    return reported.attempt == job.attempt and ExportManifest.model_validate(export.manifest).exported.version >= reported.version


def _choice(session: Session, job: JobRow, rows: Sequence[ProcessRow]) -> shard_count.ShardCount | None:
    """Settle `auto` by the slice that the one shard of the first attempt has reported. After a checkpoint it is too late."""
    spec = JobSpec.model_validate(job.spec)
    if spec.roles.server.count != "auto" or job.shards is not None:
        return None
    if artifacts.newest_checkpoint(session, job.id):
        return shard_count.ShardCount(1, "1 shard: there was a checkpoint of one before the model's size was known.")
    figures = Folded.model_validate(job.progress).figures
    nbytes = figures.center_bytes
    workers = Counter(row.node_id for row in rows if row.role in ("worker", "peers"))
    if nbytes is None or job.progress.get("attempt") != job.attempt or not workers:
        return None
    return shard_count.choose(spec, nbytes, hosts(session, workers), figures.largest_share)


def hosts(session: Session, workers: Mapping[UUID, int]) -> list[shard_count.Host]:
    """The machines of a job, from how many of its workers each node has."""
    cpus = {node.id: node.cpus for node in nodes.all_nodes(session)}
    return [shard_count.Host(cpus.get(node, 1), count) for node, count in workers.items()]


@dataclass(frozen=True, slots=True)
class _Since:
    """Seconds from a moment until now, by the database's clock."""

    now: datetime

    def __call__(self, moment: datetime | None) -> float:
        return (self.now - moment).total_seconds() if moment else 0.0


def _ran(attempt: AttemptRow, moment: datetime) -> float:
    """Return the seconds that the attempt ran, up to `moment`."""
    return ((attempt.ended_at or moment) - attempt.running_at).total_seconds() if attempt.running_at else 0.0


def _failed_attempts(attempts: Sequence[AttemptRow]) -> int:
    failed = takewhile(lambda each: each.running_at is None and each.reason in _NEVER_RAN, reversed(attempts))
    return len(list(failed))


def placed_processes(rows: Sequence[ProcessRow]) -> tuple[PlacedProcess, ...]:
    """Return the process of each role and rank that was not replaced, with the counts of its incarnations. Linear in the rows: a
    job may have thousands."""
    incarnations = defaultdict[str, list[ProcessRow]](list)
    for row in sorted(rows, key=lambda each: -each.incarnation):
        incarnations[row.label].append(row)
    return tuple(_process(row, incarnations[row.label]) for row in rows if not row.replaced)


def _process(row: ProcessRow, incarnations: Sequence[ProcessRow]) -> PlacedProcess:
    """`incarnations`: of this role and rank, the newest first."""
    failed = takewhile(lambda each: each.reason in FAILED_STARTS, incarnations)
    uncharged = sum(each.reason in UNCHARGED and each.reason not in _INTENDED for each in incarnations)
    return PlacedProcess(
        row.id,
        row.role,
        row.label,
        running=row.status == ProcessStatus.RUNNING,
        ended=row.ended_at is not None,
        reason=ExitReason(row.reason) if row.reason else None,
        message=row.message or "",
        failed_starts=len(list(failed)),
        uncharged=uncharged,
        ended_at=row.ended_at.timestamp() if row.ended_at else 0.0,
        rank=row.rank,
    )
