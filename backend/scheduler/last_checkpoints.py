"""The last checkpoints: one of each job that trains, taken when the controller gets the signal to end, so that the next platform
resumes there. The way is that of every checkpoint: an entry in the job's log, files from its processes, a commit by the API."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import Literal
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.away import AWAY, MAY_PASS, first_line
from backend.db import Database, now
from backend.jobs import lifecycle
from backend.jobs import repository as job_rows
from backend.jobs.backoff import JobBackoff
from backend.jobs.models import JobRow
from backend.metrics import ingest
from backend.platform import Platform
from backend.scheduler import rollback
from backend.scheduler.decide import under_way
from backend.scheduler.situation import Situation, load
from gradstream.api.statuses import JobStatus
from gradstream.process.order import plane_id
from gradstream.wire import plane

log = structlog.get_logger(__name__)

Outcome = Literal["taken", "missed", "ended", "not_training"]

_POLL_INTERVAL, _ASK_EVERY = 0.05, 1.0
"""Seconds. A shard ignores a request while it makes another checkpoint, so each request is repeated; it takes a number once."""


@dataclass(frozen=True, slots=True)
class CheckpointRequest:
    """A job that was asked for a last checkpoint."""

    job_id: UUID
    name: str
    attempt: int
    number: int
    """The least number that a checkpoint taken after the request can have."""
    follows: int = 0
    """The checkpoint that its processes still store; they hold copies for one at a time. 0: they store none."""
    kept: int | None = None
    """Number of the checkpoint from which the job resumes without a new one; None: from the start."""
    kept_at: datetime | None = None

    def describe_miss(self, within: float, moment: datetime) -> str:
        """A sentence for the user: the job took no checkpoint in time, and what follows."""
        if self.kept is None or self.kept_at is None:
            follows = "it begins again from the start"
        else:
            follows = f"it resumes from checkpoint {self.kept}, {max(0.0, (moment - self.kept_at).total_seconds()):.0f} s earlier"
        return f"{self.name} took no checkpoint within {within:g} s; {follows}."


@dataclass(frozen=True, slots=True)
class StoppedJob:
    """A job that was running when the platform ended, for programs."""

    id: str
    name: str
    attempt: int
    outcome: Outcome
    """`ended`: it reached its own end meanwhile. `not_training`: its workers did not run, so it was not asked."""
    checkpoint: int | None = None
    """The checkpoint from which it resumes; None: it has none, or the database did not answer."""
    checkpoint_attempt: int | None = None
    pushes_rolled_back: int | None = None
    """Pushes since that checkpoint, until this report: at least so many are rolled back. None: not known."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """How the last checkpoints went."""

    sentences: Sequence[str] = ()
    """For users."""
    jobs: Sequence[StoppedJob] | None = ()
    """None: not known."""


def describe_taken(count: int) -> str:
    """A sentence for the user, or "" if there is nothing to say."""
    return f"Took a last checkpoint of {count} job{'' if count == 1 else 's'}." if count else ""


def take_last_checkpoints(platform: Platform, within: float, hurried: Event) -> ExitReport:
    """Ask each job that trains for a checkpoint and wait at most `within` seconds until all are committed, or until `hurried`
    is set."""
    deadline = time.monotonic() + within
    try:
        idle, waiting = _request_checkpoints(platform.database)
    except MAY_PASS as error:
        return ExitReport([f"No job took a last checkpoint: the database does not answer ({first_line(error)})."], None)
    if waiting:
        log.info("waiting for last checkpoints", jobs=len(waiting), within=within)
    asked, taken, ask_at = waiting, list[CheckpointRequest](), 0.0
    while waiting and time.monotonic() < deadline and not hurried.is_set():
        if time.monotonic() >= ask_at:
            _post_requests(platform, waiting)
            ask_at = time.monotonic() + _ASK_EVERY
        hurried.wait(_POLL_INTERVAL)
        committed, waiting = _find_committed(platform, waiting)
        _store_metrics(platform, committed)
        taken += committed
    moment = datetime.now().astimezone()
    sentences = [*filter(None, [describe_taken(len(taken))]), *(each.describe_miss(within, moment) for each in waiting)]
    outcomes: list[tuple[CheckpointRequest, Outcome]] = [(each, "not_training") for each in idle]
    outcomes += [(each, "taken" if each in taken else "missed" if each in waiting else "ended") for each in asked]
    jobs = [_describe_stopped(platform, *each) for each in outcomes]
    return ExitReport(sentences, sorted(jobs, key=lambda job: job.name))


def write_report(file: Path, report: ExitReport) -> None:
    """Whole or not at all: its reader waits until the file is there."""
    temporary = file.with_name(file.name + ".tmp")
    temporary.write_text(json.dumps(asdict(report), ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(temporary, file)


def _describe_stopped(platform: Platform, request: CheckpointRequest, outcome: Outcome) -> StoppedJob:
    told = StoppedJob(str(request.job_id), request.name, request.attempt, outcome)
    if outcome == "ended":
        return told
    try:
        accounts = plane.ledger(platform.plane, plane_id(request.job_id, request.attempt))
    except AWAY:
        accounts = {}  # what was reported counts
    try:
        with platform.database.transaction() as session:
            job = job_rows.get(session, request.job_id)
            if job is None:
                return told
            lost, kept = rollback.count_pushes(session, job, accounts)
    except Exception as error:  # the report is about the other jobs, too
        log.warning("it cannot be said from where a job resumes", job=told.id, error=first_line(error))
        return told
    number, attempt = (kept.number, kept.attempt) if kept else (None, None)
    return replace(told, checkpoint=number, checkpoint_attempt=attempt, pushes_rolled_back=sum(lost.values()))


def _request_checkpoints(database: Database) -> tuple[list[CheckpointRequest], list[CheckpointRequest]]:
    """The running jobs that do not train, and those that do. Each of these notes that its next checkpoint is requested. A job of
    which this fails keeps no other from its checkpoint."""
    backoff = JobBackoff(database)
    idle, waiting = list[CheckpointRequest](), list[CheckpointRequest]()
    with database.transaction() as session:
        running = [job.id for job in job_rows.live(session) if job.status == JobStatus.RUNNING]
    for job_id in running:
        backoff.attempt("checkpoint", job_id, partial(_request_of_job, database, job_id, idle, waiting))
    backoff.write_events()
    return idle, waiting


def _request_of_job(database: Database, job_id: UUID, idle: list[CheckpointRequest], waiting: list[CheckpointRequest]) -> None:
    with database.transaction() as session:
        job = job_rows.lock(session, job_id)
        if job is None:
            return
        situation = load(session, job)
        trains = _trains(situation)
        request = _request_checkpoint(session, job, situation) if trains else CheckpointRequest(job.id, job.name, job.attempt, 0)
    (waiting if trains else idle).append(request)


def _trains(situation: Situation) -> bool:
    working = any(process.role == "worker" and process.running for process in situation.processes)
    return situation.status is JobStatus.RUNNING and working and not situation.final_checkpoint


def _request_checkpoint(session: Session, job: JobRow, situation: Situation) -> CheckpointRequest:
    attempt, kept = lifecycle.current_attempt(session, job), artifacts.newest_checkpoint(session, job.id)
    follows = under_way(situation)
    number = max(attempt.checkpoint_requested, attempt.checkpoint or 0, follows) + 1
    attempt.checkpoint_requested, attempt.checkpoint_requested_at = number, now(session)
    before = (kept.number, kept.created_at) if kept else (None, None)
    return CheckpointRequest(job.id, job.name, attempt.number, number, follows, *before)


def _post_requests(platform: Platform, waiting: Sequence[CheckpointRequest]) -> None:
    for each in waiting:
        try:
            if not _is_stored(platform.database, each):
                continue
            plane.control_checkpoint(platform.plane, plane_id(each.job_id, each.attempt), each.number)
        except AWAY as error:
            log.warning("a last checkpoint could not be requested; trying again", job=str(each.job_id), error=first_line(error))


def _is_stored(database: Database, request: CheckpointRequest) -> bool:
    """Return whether the checkpoint that the requested one follows is committed."""
    if not request.follows:
        return True
    try:
        with database.transaction() as session:
            attempt = job_rows.attempt(session, request.job_id, request.attempt)
            return attempt is not None and (attempt.checkpoint or 0) >= request.follows
    except MAY_PASS as error:
        log.warning("it cannot be said whether a checkpoint is committed", job=str(request.job_id), error=first_line(error))
        return False


def _find_committed(
    platform: Platform, waiting: Sequence[CheckpointRequest]
) -> tuple[list[CheckpointRequest], list[CheckpointRequest]]:
    """The jobs whose checkpoint is committed, and those that have yet to; without those that have ended meanwhile."""
    committed, left = list[CheckpointRequest](), list[CheckpointRequest]()
    for each in waiting:
        try:
            with platform.database.transaction() as session:
                if _is_committed(session, each):
                    committed.append(each)
                elif _lives(session, each):
                    left.append(each)
        except Exception as error:
            log.warning("it cannot be said whether a last checkpoint is committed", job=str(each.job_id), error=first_line(error))
            left.append(each)
    return committed, left


def _is_committed(session: Session, request: CheckpointRequest) -> bool:
    attempt = job_rows.attempt(session, request.job_id, request.attempt)
    return attempt is not None and (attempt.checkpoint or 0) >= request.number


def _lives(session: Session, request: CheckpointRequest) -> bool:
    job = job_rows.get(session, request.job_id)
    return job is not None and job.status == JobStatus.RUNNING and not load(session, job).final_checkpoint


def _store_metrics(platform: Platform, committed: Sequence[CheckpointRequest]) -> None:
    """The plane's Redis ends with the platform, and with it the points up to the checkpoint that are not stored by then."""
    for each in committed:
        try:
            ingest.ingest(platform.database, platform.plane, each.job_id, each.attempt)
        except Exception as error:  # the platform ends: the others have only these seconds
            log.warning("the last metrics could not be stored", job=str(each.job_id), error=first_line(error))
