"""The cost of a return to a checkpoint: the pushes applied since, which are made again. Counted and shown, not hidden."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.artifacts.models import CheckpointRow
from backend.db import now
from backend.jobs.models import JobRow
from backend.metrics import service as metrics
from gradstream.center.ledger import Account
from gradstream.metrics import ROLLED_BACK, STALENESS, Point

_SOURCE = "controller.0"


def count_pushes(session: Session, job: JobRow, accounts: Mapping[int, Account]) -> tuple[dict[int, int], CheckpointRow | None]:
    """Pushes of each worker since the newest checkpoint of the job, and that checkpoint.

    `accounts`: one of each rank, from the data plane. When that is gone, the reported pushes count, without the last moments."""
    pushed = {rank: account.pushed for rank, account in accounts.items()}
    kept = artifacts.newest_checkpoint(session, job.id)
    pushed_at_checkpoint = {int(rank): count for rank, count in (kept.manifest.get("pushed", {}) if kept else {}).items()}
    reported = metrics.highest_step(session, job.id, job.attempt, STALENESS.name)
    made = {rank: max(pushed.get(rank, 0), reported.get(rank, 0)) for rank in pushed.keys() | reported.keys()}
    return {rank: max(0, count - pushed_at_checkpoint.get(rank, 0)) for rank, count in made.items()}, kept


def record_pushes(session: Session, job: JobRow, accounts: Mapping[int, Account]) -> str:
    """Enter the pushes that the end of the live attempt rolls back into each worker's ledger; return a sentence about them, or "".

    `accounts`: see `count_pushes`. `job` must be locked."""
    lost, kept = count_pushes(session, job, accounts)
    if not any(lost.values()):
        return ""
    before = metrics.last_values(session, job.id, ROLLED_BACK.name)
    clock = now(session).timestamp()
    points = [Point(ROLLED_BACK.name, rank, 0, 0, 0, clock, before.get(rank, 0) + count) for rank, count in sorted(lost.items())]
    metrics.store(session, job, job.attempt, [(_SOURCE, 0, points)])
    since = (
        f"since checkpoint {kept.number} of attempt {kept.attempt}"
        if kept
        else "since the beginning, as no checkpoint was committed"
    )
    return f"{sum(lost.values())} pushes are rolled back: all {since}."
