"""The end of a job: what is left of its metrics is stored, its files are made, then it takes its last state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
import yaml
from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.artifacts.schemas import Kind
from backend.away import REDIS
from backend.db import now
from backend.jobs import feed, lifecycle
from backend.jobs import repository as job_rows
from backend.jobs.backoff import JobBackoff
from backend.jobs.models import JobRow
from backend.jobs.states import switch
from backend.metrics import export, ingest, keeping, service
from backend.platform import Platform
from backend.progress.state import process_summaries
from backend.scheduler.situation import Situation
from gradstream.api.statuses import AttemptStatus, JobStatus
from gradstream.center.ledger import Account
from gradstream.events import EventKind
from gradstream.metrics import LEDGER, Point
from gradstream.process.order import plane_id
from gradstream.wire import plane

log = structlog.get_logger(__name__)

_SOURCE, _BATCH = "controller.0", 1
METRICS, JOB_FILE = "metrics.parquet", "job.yaml"
_TIMEOUT = 30.0
"""Seconds for which an ended job waits for a Redis that is away, so that its last metrics are not lost."""


def prepare(platform: Platform, situation: Situation) -> dict[int, Account]:
    """Store the last metrics and write the files. Outside any transaction; harmless to repeat. Returns the ledger as the plane
    knows it."""
    accounts: dict[int, Account] = {}
    try:
        ingest.ingest(platform.database, platform.plane, situation.job_id, situation.attempt)
        accounts = plane.ledger(platform.plane, situation.plane_id)
    except REDIS:
        if situation.ended_for < _TIMEOUT:
            raise
        log.warning("the last metrics are given up: Redis is away", job=str(situation.job_id))
    keeping.fold(platform.database, situation.job_id)
    folder = platform.files.of_attempt(situation.job_id, situation.attempt, "")
    folder.mkdir(parents=True, exist_ok=True)
    spec = situation.spec.model_dump(mode="json", exclude_none=True)
    (folder / JOB_FILE).write_text(yaml.safe_dump(spec, sort_keys=False, allow_unicode=True))
    export.write_parquet(platform.database, situation.job_id, folder / METRICS)
    return accounts


def succeed(session: Session, platform: Platform, job: JobRow) -> None:
    result = artifacts.result(session, platform.files, job.id, job.attempt)
    message = _how_it_ended(job, result)
    if result.get("target"):
        feed.record(session, job, EventKind.TARGET, message, actor="evaluator", data={"result": result})
    _enter_files(session, platform, job)
    lifecycle.end_attempt(session, job, AttemptStatus.SUCCEEDED, reason=None, message=message)
    switch(session, job, JobStatus.SUCCEEDED, actor="controller", reason=None, message=message, data={"result": result})


def _how_it_ended(job: JobRow, result: Mapping[str, Any]) -> str:
    best = result.get("best")
    kept = f"{best['metric']} {best['value']:.6g} at {best['samples']:,} samples" if isinstance(best, dict) else ""
    if result.get("stopped_by") == "patience":
        return f"Stopped early: {job.spec['stop']['patience']} evaluations in a row were no better than {kept}."
    ended = "The target is reached." if result.get("target") else "Training is complete."
    return f"{ended} The best evaluation was {kept}." if kept else ended


def finish(session: Session, platform: Platform, job: JobRow, accounts: Mapping[int, Account]) -> None:
    """The end that a stopping job was stopped for; its reason and sentence are those of the stop."""
    _enter_files(session, platform, job)
    _complete_ledger(session, job, accounts)
    to, reason, message = JobStatus(job.stop_to or JobStatus.FAILED), job.reason, job.message or ""
    ended = AttemptStatus.FAILED if to is JobStatus.FAILED else AttemptStatus.STOPPED
    lifecycle.end_attempt(session, job, ended, reason=reason, message=message)
    switch(session, job, to, actor="controller", reason=reason, message=message, event="all its processes have ended.")


def _complete_ledger(session: Session, job: JobRow, accounts: Mapping[int, Account]) -> None:
    """A shard that was killed has told its ledger a moment before, and noted it on the plane with its last read."""
    found = process_summaries(job.progress)
    told = found.ledger if found.attempt == job.attempt else {}
    behind = {rank: account for rank, account in sorted(accounts.items()) if _is_later(account, told.get(rank, {}))}
    if not behind:
        return
    clock = now(session).timestamp()
    points = [
        Point(metric.name, rank, account.pushed, 0, 0, clock, getattr(account, metric.name.removeprefix("ledger/")))
        for rank, account in behind.items()
        for metric in LEDGER
    ]
    service.store(session, job, job.attempt, [(_SOURCE, _BATCH, points)])
    total = sum(account.pushed - told.get(rank, {}).get("pushed", 0) for rank, account in behind.items())
    message = (
        f"server-0 was killed before it had reported its last ledger; {total} pushes were added from what it had noted on the "
        "plane. Pushes that it applied in its last moment may be missing."
    )
    feed.record(session, job, EventKind.WARNING, message, actor="controller", data={"completed": total})


def _is_later(noted: Account, told: Mapping[str, int]) -> bool:
    """Both numbers only grow."""
    before = told.get("pushed", 0), told.get("pushed", 0) - told.get("pending", 0)
    return (noted.pushed, noted.pushed - noted.pending) > before


def _enter_files(session: Session, platform: Platform, job: JobRow) -> None:
    kinds: dict[str, Kind] = {JOB_FILE: "job", METRICS: "metrics"}
    for name, kind in kinds.items():
        path = platform.files.of_attempt(job.id, job.attempt, name)
        artifacts.enter(session, job, job.attempt, name, kind, size=path.stat().st_size, sha256=_sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sweep(platform: Platform, backoff: JobBackoff) -> None:
    """Remove what ended attempts have left on the data plane, after storing the metrics that still lie there."""
    with platform.database.transaction() as session:
        left = [(row.job_id, row.number) for row in job_rows.attempts_with_plane(session)]
    resting = backoff.resting("sweep")
    for job_id, number in left:
        if job_id not in resting:
            backoff.attempt("sweep", job_id, partial(_sweep_attempt, platform, job_id, number))


def _sweep_attempt(platform: Platform, job_id: UUID, number: int) -> None:
    ingest.ingest(platform.database, platform.plane, job_id, number)
    plane.destroy(platform.plane, plane_id(job_id, number))
    with platform.database.transaction() as session:
        attempt = job_rows.attempt(session, job_id, number)
        if attempt is not None:
            attempt.plane_open = False
