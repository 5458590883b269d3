"""The decision on a job's next step. Pure: a situation in, at most one step out; the same situation gives the same step.

starting, running:   a process failed?  -> fail, new attempt, or a new incarnation of it
                     the plane is gone? -> new attempt
                     all ended well?    -> succeeded
                     else               -> prepare, run, time-out, checkpoint
stopping:            all ended?         -> the end it was stopped for
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from backend.jobs.lifecycle import respawns
from backend.scheduler.situation import PlacedProcess, Situation
from gradstream.api.statuses import AttemptStatus, JobStatus
from gradstream.process.exits import FAILED_STARTS, FAILS_THE_JOB, UNCHARGED, ExitReason
from gradstream.process.headline import sort_failures

MAX_UNCHARGED = 20
"""Attempts, or losses of one process, that were not the job's fault; after so many something is wrong with the platform, and the
job fails."""
MAX_FAILED_STARTS = 5
"""Starts in a row that failed through no fault of the job, of an attempt or of one process; then the job fails."""
START_TIMEOUT = "start_timeout"
"""Why an attempt ended: its processes did not all come to run."""
CHECKPOINT_TIMEOUT = 60.0
"""Seconds after which a checkpoint that did not come is abandoned, and the next may be requested; see `Situation.to_store`."""
EXPORT_TIMEOUT = 600.0
"""Seconds after which an export that was not committed is abandoned, and the next may be requested. One that a server could not
store is followed sooner; see `Situation.export_retry_delay`."""
KILL_TIMEOUT = 60.0
"""Seconds for which the end of a job waits for processes that should be dead."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the attempt's data plane; then its processes may start."""


@dataclass(frozen=True, slots=True)
class Run:
    """All processes run."""


@dataclass(frozen=True, slots=True)
class Respawn:
    """Start the next incarnation of a process, and of those of its group on other machines."""

    process: UUID
    label: str
    message: str
    charged: bool


@dataclass(frozen=True, slots=True)
class Restart:
    """End this attempt; the next begins from the last checkpoint."""

    reason: str
    message: str
    charged: bool


@dataclass(frozen=True, slots=True)
class Fail:
    reason: str
    message: str
    process: UUID | None = None


@dataclass(frozen=True, slots=True)
class TimeOut:
    message: str


@dataclass(frozen=True, slots=True)
class PostStop:
    """Ask the workers to leave at their next round boundary."""


@dataclass(frozen=True, slots=True)
class TakeCheckpoint:
    number: int


@dataclass(frozen=True, slots=True)
class RequestExport:
    """Ask the servers for an export, which is due."""


@dataclass(frozen=True, slots=True)
class Succeed:
    """All workers are done, the last checkpoint is committed, the model is there."""


@dataclass(frozen=True, slots=True)
class Finish:
    """A stopping job reaches its end."""


@dataclass(frozen=True, slots=True)
class SettleShards:
    """Settle `roles.server.count: auto` on `count` shards. More than the one that the job began with need a new attempt."""

    count: int
    reason: str


Step = (
    Prepare | Run | Respawn | Restart | SettleShards | Fail | TimeOut | PostStop | TakeCheckpoint | RequestExport | Succeed | Finish
)


def decide(now: Situation, *, plane_there: bool, start_timeout: float) -> Step | None:
    match now.status:
        case JobStatus.QUEUED:
            return _timed_out(now)
        case JobStatus.STOPPING:
            return _stopping(now)
        case JobStatus.STARTING | JobStatus.RUNNING:
            return _after_failures(now, plane_there) or _timed_out(now) or _going_on(now, start_timeout)
        case _:
            return None


def _stopping(now: Situation) -> Step | None:
    overdue = now.stop_overdue or 0.0
    if now.all_ended or overdue > KILL_TIMEOUT:
        return Finish()
    return PostStop() if overdue < 0 and not now.stop_posted else None


def _after_failures(now: Situation, plane_there: bool) -> Step | None:
    failed = sort_failures(now.failures)
    if failed and failed[0].reason in FAILS_THE_JOB:
        return Fail(str(failed[0].reason), f"{failed[0].label}: {failed[0].message}", failed[0].id)
    if not plane_there and now.attempt_status is not AttemptStatus.PREPARING and not now.all_ended:
        return _restart(now, ExitReason.PLANE_LOST, "Redis came back without this attempt.", None)
    for process in failed:
        verb = "was lost" if process.reason is ExitReason.NODE_LOST else "ended"
        said = f"{process.label} {verb}: {process.message or process.reason}."
        if process.role == "worker" and now.spec.goes_on_but_for(process.rank):
            does = "held" if now.spec.one_holder else "stored"
            said += f" It {does} the model, so the others cannot go on without it."
        if process.failed_starts >= MAX_FAILED_STARTS:
            return _never_starts(str(process.reason), said, process)
        if _may_respawn(process, now):
            charged = process.reason not in UNCHARGED
            if charged and now.retries_used >= now.spec.retries:
                return _no_retries(now, str(process.reason), said, process)
            if process.uncharged > MAX_UNCHARGED and process.reason != ExitReason.RESTARTED:
                lost = f"It was lost {process.uncharged} times, and not by the job's fault"
                return Fail(str(process.reason), f"{said} {lost}; something is wrong with the platform.", process.id)
            if not all(each.ended for each in now.group_of(process)):
                continue  # their nodes end them: see `backend.nodes.orders`
            return Respawn(process.id, process.label, said, charged)
        return _restart(now, str(process.reason), said, process)
    return None


def _may_respawn(process: PlacedProcess, now: Situation) -> bool:
    shard_gone = any(other.ended and now.spec.holds_shard(other.role, other.rank) for other in now.processes)
    return process.reason is not ExitReason.PLANE_LOST and respawns(process.role, process.rank, now.spec, shard_gone=shard_gone)


def _restart(now: Situation, reason: str, message: str, process: PlacedProcess | None) -> Step:
    failed_start = reason == START_TIMEOUT or reason in FAILED_STARTS
    charged = not failed_start and reason not in UNCHARGED
    if charged and now.retries_used >= now.spec.retries:
        return _no_retries(now, reason, message, process)
    if failed_start and now.failed_starts + 1 >= MAX_FAILED_STARTS:
        return _never_starts(reason, message, process)
    if reason != ExitReason.RESTARTED and now.attempt - now.intended > now.retries_used + MAX_UNCHARGED:
        lost = f"{MAX_UNCHARGED} earlier attempts were lost, and not by the job's fault"
        return Fail(reason, f"{message} {lost}; something is wrong with the platform.", process.id if process else None)
    return Restart(reason, message, charged)


def _never_starts(reason: str, message: str, process: PlacedProcess | None) -> Fail:
    told = f"{message} It did not start {MAX_FAILED_STARTS} times in a row; the events say on which nodes, and why."
    return Fail(reason, told, process.id if process else None)


def _no_retries(now: Situation, reason: str, message: str, process: PlacedProcess | None) -> Fail:
    allowed = f"{now.spec.retries} of {now.spec.retries} retries are used" if now.spec.retries else "the job file allows no retries"
    return Fail(reason, f"{message} No new attempt: {allowed}.", process.id if process else None)


def _timed_out(now: Situation) -> Step | None:
    limit = now.spec.timeout
    return TimeOut(f"It ran for more than {limit:g} s, its timeout.") if limit and now.running_for > limit else None


def _going_on(now: Situation, start_timeout: float) -> Step | None:
    if now.attempt_status is AttemptStatus.PREPARING:
        return Prepare()
    if now.shards and not now.all_ended:
        return SettleShards(now.shards.shards, now.shards.reason)
    if now.status is JobStatus.STARTING:
        if all(process.running or process.ended for process in now.processes):
            return Run()
        if now.attempt_age > start_timeout:
            late = ", ".join(process.label for process in now.processes if not (process.running or process.ended))
            return _restart(now, START_TIMEOUT, f"{late} did not start within {start_timeout:g} s.", None)
        return None
    if now.all_ended:
        if now.final_checkpoint and now.model:
            return Succeed()
        missing = "the model" if now.final_checkpoint else "the last checkpoint"
        return _restart(now, ExitReason.INTERNAL, f"All processes ended, but {missing} is missing.", None)
    return _take_checkpoint(now) or _ask_for_export(now)


def _take_checkpoint(now: Situation) -> Step | None:
    """Take the next checkpoint when it is due. The one under way is committed or abandoned first, and none follows the last one.
    By samples, the shards take checkpoints without a request, and skip some while one is being stored."""
    interval = now.spec.checkpoint.cadence.seconds
    if interval is None:
        return _replace_awaited(now)
    if now.final_checkpoint or under_way(now):
        return None
    due = now.is_training and now.since_checkpoint_request >= interval
    return TakeCheckpoint(now.checkpoint_requested + 1) if due else None


def under_way(now: Situation) -> int:
    """Return the checkpoint that is being made or stored, and is not late enough to be abandoned; 0: none. The control plane
    hears of one by samples when the shards skip another."""
    timeout = CHECKPOINT_TIMEOUT + now.to_store
    requested = now.checkpoint_requested if now.since_checkpoint_request < timeout else 0
    number = max(requested, now.awaited_checkpoint if now.since_awaited < timeout else 0)
    return number if number > (now.checkpoint_committed or 0) else 0


def _replace_awaited(now: Situation) -> Step | None:
    """Abandon a checkpoint by samples that is not stored in time: ask for the next one, which the shards wait for instead."""
    timeout, number = CHECKPOINT_TIMEOUT + now.to_store, now.awaited_checkpoint + 1
    is_posted = now.checkpoint_requested >= number and now.since_checkpoint_request < timeout
    is_late = now.awaited_checkpoint and now.since_awaited >= timeout and now.is_training and not now.final_checkpoint
    return TakeCheckpoint(number) if is_late and not is_posted else None


def _ask_for_export(now: Situation) -> Step | None:
    """Ask for the next export when it is due. The one under way is committed, abandoned, or has failed first. By passes, servers
    make them without a request. None is due while the model does not change, as in a night without data."""
    every = now.spec.export.seconds if now.spec.export else None
    if every is None or now.final_checkpoint or now.export_is_current or not now.is_training:
        return None
    if now.export_under_way:
        every = max(every, EXPORT_TIMEOUT) if now.export_retry_delay is None else now.export_retry_delay
    return RequestExport() if now.since_export_request >= every else None
