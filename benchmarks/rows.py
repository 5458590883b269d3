"""Jobs as rows, for benchmarks and tests of long lists: as they would stand there after training, without any training."""

from __future__ import annotations

import functools
import random
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, create_engine, insert, make_url
from sqlalchemy.orm import Session

import backend.models  # noqa: F401  # all tables, as those of jobs refer to others
from backend.jobs.models import JobRow
from backend.progress.curve import LossCurve
from backend.progress.figures import figures
from backend.progress.state import Folded
from backend.progress.throughput import Throughput
from backend.users import service as users
from gradstream.local.folder import DataFolder
from gradstream.local.servers.postgres import DATABASE, USER
from gradstream.spec import JobSpec

ENDED = ("succeeded", "succeeded", "succeeded", "failed", "cancelled", "timed_out")
STRATEGIES = ("adag", "async", "sync", "easgd")
_PORTION = 500


def insert_jobs(
    session: Session,
    count: int,
    *,
    owners: Sequence[str] = ("ada",),
    statuses: Sequence[str] = ENDED,
    seed: int = 0,
    newest: datetime | None = None,
) -> list[UUID]:
    """Ids, the oldest first. Jobs are a minute apart, every third minute has two. Many share a value; every fourth has none."""
    drawn = random.Random(seed)
    specs = {name: JobSpec.model_validate(_spec(name)).model_dump(mode="json") for name in STRATEGIES}
    ids = [users.ensure_user(session, name).id for name in owners]
    last = newest or datetime.now(UTC) - timedelta(minutes=1)
    rows = [
        _row(drawn, specs, drawn.choice(ids), drawn.choice(statuses), number, last - timedelta(minutes=_minute(count - number)))
        for number in range(count)
    ]
    for first in range(0, count, _PORTION):
        session.execute(insert(JobRow), rows[first : first + _PORTION])
    return [row["id"] for row in sorted(rows, key=lambda row: (row["created_at"], row["id"]))]


def _minute(number: int) -> int:
    """Of the four jobs from a multiple of four on, the last two share theirs."""
    return number - (number + 1) // 4


def _spec(strategy: str) -> dict[str, Any]:
    return {
        "name": "row",
        "workload": {"entrypoint": "work:Work"},
        "strategy": {"name": strategy},
        "stop": {"epochs": 3},
        "roles": {"server": {"count": 1}, "worker": {"count": 2, "device": "cpu"}},
    }


@functools.cache
def _gate(strategy: str) -> str:
    return str(JobSpec.model_validate(_spec(strategy)).effective_gate)


def _row(
    drawn: random.Random, specs: dict[str, dict[str, Any]], owner: UUID, status: str, number: int, at: datetime
) -> dict[str, Any]:
    strategy, workers = drawn.choice(STRATEGIES), drawn.choice((1, 2, 4, 8))
    name = f"{drawn.choice(('digits', 'words', 'faces', 'line'))}-{strategy}-{number % 50:02}"
    spec = {**specs[strategy], "name": name, "roles": {**specs[strategy]["roles"], "worker": {"count": workers, "device": "cpu"}}}
    progress = _progress(drawn) if number % 4 else {}
    live = status not in ENDED
    return {
        "id": UUID(int=drawn.getrandbits(128), version=4),
        "name": name,
        "user_id": owner,
        "spec": spec,
        "strategy": strategy,
        "gate": _gate(strategy),
        "priority": drawn.choice((50, 50, 80)),
        "workers": workers,
        "status": status,
        "reason": None,
        "message": None,
        "seq": 1,
        "feed": 1,
        "attempt": 1,
        "progress": progress,
        **figures(progress),
        "created_at": at,
        "started_at": at + timedelta(seconds=2),
        "ended_at": None if live else at + timedelta(seconds=drawn.randrange(20, 4000)),
    }


def _progress(drawn: random.Random) -> dict[str, Any]:
    low = drawn.uniform(0.02, 0.6)
    throughput = Throughput(began=(0.0, 0), now=(60_000 / (100.0 * drawn.randrange(1, 40)), 60_000))
    state = Folded(
        attempt=1,
        samples=60_000,
        total_samples=60_000,
        version=900,
        loss={0: round(low, 1)},
        curve=_curve(round(low, 2)),
        throughput=throughput,
        staleness_sum=900.0 * drawn.randrange(0, 5),
        staleness_count=900,
        eval={"accuracy": round(1 - low, 2)},
    )
    return state.model_dump(mode="json")


@functools.cache
def _curve(low: float) -> LossCurve:
    """Drawn once for all jobs that come down to `low`: 200 points take longer than the rest of a row."""
    drawn, curve = random.Random(low), LossCurve()
    for step in range(200):
        curve.take(low + 2.3 / (1 + step / drawn.uniform(8, 14)) + drawn.gauss(0, 0.05))
    return curve


def engine_of(folder: DataFolder) -> Engine:
    """The Postgres of the platform that runs on this data folder."""
    holder = folder.holder()
    assert holder, "no platform runs on this data folder"
    url = make_url(f"postgresql+psycopg://{USER}@/{DATABASE}?host={holder.run_dir}/pg")
    return create_engine(url.set(password=folder.secret("postgres-password").read_text().strip()))


def make_join_token(folder: DataFolder) -> str:
    """For one machine, also where none can reach the platform from outside."""
    token = f"gsj_{secrets.token_urlsafe(32)}"
    engine = engine_of(folder)
    with Session(engine) as session, session.begin():
        users.enter_join_token(session, token, uses=1)
    engine.dispose()
    return token
