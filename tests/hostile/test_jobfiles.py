"""The law of job files: each one that is accepted can be validated, planned, submitted, placed, sent to nodes, shown, compared,
tidied and deleted. What cannot be done fails at the check, in sentences, and never later."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, ValidationError
from sqlalchemy.orm import Session

from backend.bundles import service as bundles
from backend.jobs import service
from backend.jobs.backoff import JobBackoff, Work
from backend.jobs.lists import listing
from backend.jobs.lists.schemas import JobQuery
from backend.jobs.models import JobRow
from backend.jobs.queue import view as queue_view
from backend.metrics import keeping
from backend.metrics import service as metrics
from backend.nodes import orders, repository
from backend.nodes.schemas import Register, ReportedGpu
from backend.overview import service as overview
from backend.platform import Platform
from backend.scheduler.placing.waiting_line import WaitingLine
from backend.scheduler.planning import plan
from backend.scheduler.schemas import PlanJob
from backend.scheduler.situation import load
from backend.submission import service as submission
from backend.submission.schemas import SubmitJob, ValidateJob
from backend.users import service as users
from backend.users.service import Caller
from gradstream import bundle, jobfile
from gradstream.api.plan import MeasuredSize
from gradstream.api.platform import TokenScope
from gradstream.api.statuses import JobStatus
from gradstream.errors import GradstreamError, InvalidJob
from gradstream.metrics import COMPUTE, EPOCH, LOSS, SLICE, THROUGHPUT, TOTAL, Point
from gradstream.spec import JobSpec
from tests.hostile.jobfiles import draw_job
from tests.hostile.jobtexts import draw_text
from tests.hostile.progress import Progress
from tests.hostile.runs import FIRST, runs
from tests.integration.backend.jobs import WORK

RUNS = runs(100, 10_000)
LONGEST = 2.0
"""Seconds of processor time for one text."""
SIZES = [None, MeasuredSize(parameters=1), MeasuredSize(parameters=10**12, step=1e-9)]
"""What a plan is told of the model."""
SIZES_OF_ANY = [4.0, 4e6, 1e99, 1e300, -1.0, 0.0]
"""What processes report."""


class Strict(JobBackoff):
    """What fails for a job fails the test."""

    def attempt(self, work: Work, job_id: UUID, do: Callable[[], None]) -> Exception | None:
        do()
        return None


class Plane:
    """The control plane's own functions, on a real database: each in a transaction, and each answer as JSON."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self.platform, self.backoff = platform, Strict(platform.database)
        (folder / "work.py").write_text(WORK.replace("hidden: int = 8", "K0: object = 0; K1: object = 0; K2: object = 0"))
        with platform.database.transaction() as session:
            self.caller = Caller(users.ensure_user(session, "ada").id, "ada", TokenScope.FULL, uuid4())
            self.bundle = bundles.store_bytes(session, platform.files, self.caller, bundle.pack(folder)).hash
            gpus = [ReportedGpu(index=at, name="a GPU", memory=1 << 34) for at in range(8)]
            body = Register(name="node-1", slots=1000, cpus=64, memory=1 << 40, gpus=gpus, version="0.1.0")
            self.node = repository.enter(session, body, b"credential", b"token", "a test")
        earlier = {"name": "earlier", "workload": {"entrypoint": "work:Work"}, "strategy": {"name": "adag"}, "stop": {"steps": 1}}
        with platform.database.transaction() as session:
            body = SubmitJob(spec=JobSpec.model_validate(earlier), bundle=self.bundle)
            self.measured = submission.submit(session, platform.files, self.caller, body, None).id
            service.stop(session, platform, self.caller, self.measured)

    def do(self, work: Callable[[Session], Any], *, keep: bool = True) -> Any:
        with self.platform.database.transaction() as session:
            done = work(session)
            for each in done if isinstance(done, list) else [done]:
                if isinstance(each, BaseModel):
                    json.dumps(each.model_dump(mode="json"), allow_nan=False)  # as FastAPI writes it
            if not keep:
                session.flush()
                session.rollback()
        return done

    def measure(self, job_id: UUID, size: float) -> None:
        """Tell how large the model of a job is, and how long its worker takes, as its processes would."""

        def write(session: Session) -> None:
            job = service.lock(session, job_id)
            told = {SLICE: size, COMPUTE: size, LOSS: -size, TOTAL: size, EPOCH: size, THROUGHPUT: size}
            points = [Point(metric.name, 0, 1, 1, 1, 1e9, value) for metric, value in told.items()]
            metrics.store(session, job, job.attempt, [("worker-0.0", 0, points), ("server-0.0", 0, points)])

        self.do(write)


@pytest.fixture
def plane(platform: Platform, tmp_path: Path) -> Plane:
    return Plane(platform, tmp_path)


def test_every_job_file_that_is_accepted_goes_all_the_way(plane: Plane, progress_of: Callable[[str], Progress]) -> None:
    progress, faults = progress_of("job files"), dict[str, str]()
    for seed in range(FIRST, FIRST + RUNS):
        given, began = draw_job(seed), time.process_time()
        try:
            outcome = "accepted" if live_through(plane, given, seed) else "refused"
        except Exception as error:
            outcome = "failed"
            faults.setdefault(f"{type(error).__name__}: {str(error)[:300]}", f"seed {seed}: {json.dumps(given)[:1500]}")
        progress.note(seed, outcome, time.process_time() - began)
    print(progress)  # noqa: T201
    assert not faults, "\n\n".join(f"{what}\n{which}" for what, which in faults.items())
    assert progress.met["accepted"] > RUNS // 20


def live_through(plane: Plane, given: dict[str, Any], seed: int) -> bool:
    """Whether the job file is accepted."""
    try:
        spec = JobSpec.model_validate(given)
    except ValidationError as error:
        jobfile.problems_of(error, given)
        return False
    platform, files = plane.platform, plane.platform.files
    checked = ValidateJob(spec=given, bundle=plane.bundle)
    if spec.start_from or spec.workload.entrypoint != "work:Work":
        plane.do(lambda s: [submission.validate(s, files, checked), plan.plan(s, files, PlanJob(spec=spec))])
        return True
    try:
        job = plane.do(lambda s: submission.submit(s, files, plane.caller, SubmitJob(spec=spec, bundle=plane.bundle), None))
    except GradstreamError:
        return True  # it does not fit its code
    plane.measure(plane.measured if seed % 2 else job.id, SIZES_OF_ANY[seed % len(SIZES_OF_ANY)])
    planned = PlanJob(spec=spec, bundle=plane.bundle, size=SIZES[seed % 3])
    plane.do(
        lambda s: [
            submission.validate(s, files, checked),
            plan.plan(s, files, planned),
            service.view(service.find(s, job.id)),
            overview.config(s, files, job.id),
            overview.overview(s, job.id),
            queue_view.read(s),
            listing.page(s, JobQuery(), limit=50, cursor=None),
            place(s, plane, job.id),
        ],
        keep=False,
    )
    plane.do(lambda s: [service.stop(s, platform, plane.caller, job.id), age(s, job.id)])
    keeping.tidy(platform.database, plane.backoff)
    plane.do(lambda s: service.delete(s, platform, plane.caller, job.id))
    return True


def place(session: Session, plane: Plane, job_id: UUID) -> None:
    """Place what waits, and make the orders of its processes."""
    line = WaitingLine(plane.backoff)
    if untold := line.place(session):
        line.explain(session, untold)
    job = service.find(session, job_id)
    if job.status == JobStatus.STARTING:
        load(session, job)
        for attempt in service.attempts(session, job_id).items:
            assert attempt.number == 1
        for order in orders.desired(session, plane.platform, plane.node):
            order.model_dump_json()


def age(session: Session, job_id: UUID) -> None:
    """It ended long ago."""
    row = session.get(JobRow, job_id)
    assert row is not None
    row.ended_at = datetime(1990, 1, 1, tzinfo=UTC)


def test_texts_of_job_files_are_read_or_refused_at_their_lines(progress_of: Callable[[str], Progress]) -> None:
    progress, faults = progress_of("texts"), dict[str, str]()
    for seed in range(FIRST, FIRST + RUNS):
        text, overrides = draw_text(seed)
        outcome, ran = "refused", time.process_time()
        try:
            jobfile.load(text, overrides)
            outcome = "accepted"
        except InvalidJob as error:
            if not error.message or any(not problem.message for problem in error.problems):
                faults.setdefault("refused without a sentence", f"seed {seed}")
        except Exception as error:
            faults.setdefault(f"{type(error).__name__}: {str(error)[:300]}", f"seed {seed}: {text[:1500]!r} {overrides!r:.300}")
        took = time.process_time() - ran
        progress.note(seed, outcome, took)
        if took > LONGEST:
            faults.setdefault("too slow", f"seed {seed}, {took:.1f} s: {text[:1500]!r}")
    print(progress)  # noqa: T201
    assert not faults, "\n\n".join(f"{what}\n{which}" for what, which in faults.items())
    assert progress.met["accepted"] > RUNS // 50
