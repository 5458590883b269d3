"""From a job file to a row in the queue."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from backend.bundles import service as bundles
from backend.files import FileStore
from backend.jobs import feed, repository
from backend.jobs.models import JobRow
from backend.jobs.service import find, view
from backend.jobs.warnings import notes_on, warnings_of, warnings_of_code
from backend.schemas import Fault
from backend.settings import UNENDED_JOBS
from backend.submission import start
from backend.submission.schemas import SubmitJob, Validated, ValidateJob
from backend.users.service import Caller
from gradstream import jobfile
from gradstream.api.jobs import Job
from gradstream.api.statuses import JobStatus
from gradstream.errors import Conflict, Invalid, InvalidJob, Mistake, TooManyRequests
from gradstream.events import EventKind
from gradstream.spec import JobSpec
from gradstream.workload_source import CodeFindings, CodeText, check_workload, read_texts


def submit(
    session: Session, files: FileStore, caller: Caller, body: SubmitJob, key: str | None, *, unended_jobs: int = UNENDED_JOBS
) -> Job:
    """Queue a job; or, for a key that was used before, give the job of that time. `unended_jobs`: the most that a user may have.

    Raises: InvalidJob: the bundle is missing or does not fit the job file, `start_from` names no model, or `source` says something
    else than `spec`.
    Conflict: the key stands for another request. TooManyRequests: as many jobs of the caller have not ended.
    """
    job_id = uuid4()
    if key is not None:
        same = body.model_dump_json(exclude={"origin"})  # a repeat may find the code's folder at another commit
        request = hashlib.sha256(same.encode()).digest()
        earlier = repository.claim_key(session, caller.user_id, key, request, job_id)
        if earlier is not None and earlier.request != request:
            raise Conflict("This Idempotency-Key was used for another job; use a new key for each job.", job=str(earlier.job_id))
        if earlier is not None:
            return view(find(session, earlier.job_id))
    _require_room(session, caller, unended_jobs)
    bundles.require(session, files, body.bundle, body.spec)
    _require_source(body)
    source = start.find_source(session, files, body.spec)
    job = _make_row(job_id, caller, body, source)
    session.add(job)
    session.flush()
    session.refresh(job)
    feed.record(
        session,
        job,
        EventKind.STATUS,
        f"queued: {caller.name} submitted it.",
        actor=caller.actor,
        data={"from": None, "to": "queued"},
    )
    if source:
        start.copy_weights(files, source, job_id)
        data = source.record.model_dump(mode="json", exclude_none=True)
        feed.record(session, job, EventKind.START, source.sentence, actor=caller.actor, data=data)
    feed.changed(session, job)
    return view(job)


def _require_room(session: Session, caller: Caller, most: int) -> None:
    if repository.count_unended(session, caller.user_id, most) >= most:
        raise TooManyRequests(
            f"You have {most:,} jobs that have not ended, the most for a user. Stop some, or wait, then try again.",
            limit=most,
        )


def _make_row(id: UUID, caller: Caller, body: SubmitJob, source: start.StartSource | None) -> JobRow:
    spec = body.spec
    return JobRow(
        id=id,
        name=spec.name,
        tags=spec.tags,
        note=spec.note,
        user_id=caller.user_id,
        spec=spec.model_dump(mode="json"),
        bundle=body.bundle,
        source=body.source,
        overrides=body.overrides,
        origin=body.origin and body.origin.model_dump(mode="json", exclude={"uncommitted"}),
        uncommitted=body.origin and body.origin.uncommitted and [each.model_dump() for each in body.origin.uncommitted],
        strategy=spec.strategy.name,
        gate=str(spec.effective_gate),
        priority=spec.priority,
        workers=spec.roles.worker.count,
        started_from=source and source.record.model_dump(mode="json"),
        status=JobStatus.QUEUED,
        reason="new",
        message="Waits for the scheduler.",
    )


def _require_source(body: SubmitJob) -> None:
    """Check that `source` says the same as `spec`: a later reader of the text shall read what was run. Raises: InvalidJob."""
    if body.source is None and body.overrides:
        raise InvalidJob("Overrides need a source.", [Mistake("/overrides", "leave them out, or send `source`, too")])
    if body.source is None:
        return
    try:
        said = jobfile.load(body.source, body.overrides)
    except InvalidJob as error:
        problems = [Mistake("/source", f"{problem.pointer}: {problem.message}") for problem in error.problems]
        raise InvalidJob("The text of the job file is not valid.", problems or [Mistake("/source", error.message)]) from error
    if said.model_dump(mode="json") != body.spec.model_dump(mode="json"):
        differs = Mistake("/source", "differs from `spec`; send the text that `spec` was read from")
        raise InvalidJob("`source` and `spec` differ.", [differs])


def validate(session: Session, files: FileStore, body: ValidateJob) -> Validated:
    """Raises: Invalid unless exactly one of the two forms is given, and code in one form at most."""
    code = _code(session, files, body)
    workloads = bundles.workloads(code) if code else []
    try:
        spec = _read(body)
    except InvalidJob as error:
        problems = error.problems or [Mistake("", error.message)]
        return Validated(valid=False, ready=False, errors=_faults(problems), workloads=workloads, spec=None)
    found = check_workload(code, spec) if code else CodeFindings()
    return Validated(
        valid=not found.errors,
        ready=code is not None and not found.errors,
        errors=_faults(found.errors),
        warnings=[*warnings_of(spec), *warnings_of_code(found)],
        notes=notes_on(spec),
        workloads=workloads,
        spec=None if found.errors else spec,
    )


def _code(session: Session, files: FileStore, body: ValidateJob) -> CodeText | None:
    """Raises: Invalid."""
    if body.bundle is None:
        return None if body.sources is None else read_texts(body.sources)
    if body.sources is not None:
        raise Invalid("Give one of 'bundle' and 'sources'.", [Mistake("/sources", "leave it out, as a bundle is named")])
    return bundles.code_of(session, files, body.bundle)


def _faults(problems: Sequence[Mistake]) -> list[Fault]:
    return [Fault(pointer=each.pointer, message=each.message) for each in problems]


def _read(body: ValidateJob) -> JobSpec:
    given = body.yaml if body.spec is None else body.spec
    if given is None or (body.spec is not None and body.yaml is not None):
        raise Invalid("Give exactly one of 'spec' and 'yaml'.", [Mistake("", "give exactly one of 'spec' and 'yaml'")])
    return jobfile.load(given, body.overrides)
