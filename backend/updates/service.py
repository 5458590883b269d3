"""Update samples of jobs: what workers may store, and what users read of it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts.admitting import find_process
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.platform import Platform
from backend.updates import repository
from backend.updates.grouping import by_progress, by_staleness, layers_of
from gradstream.api.model.updates import GroupedBy, StoredUpdateSample, UpdateHistograms, UpdateLayer, UpdateSamplePage
from gradstream.errors import Conflict, Invalid
from gradstream.updates.posted import PostedUpdates, UpdatesOutcome
from gradstream.updates.sample import MAX_SAMPLE_BYTES, UpdateSample, What


def put(session: Session, platform: Platform, process_id: UUID, body: PostedUpdates) -> UpdatesOutcome:
    """Store the samples of a worker, as far as its job may have more. Raises: NotSignedIn, Invalid. Conflict: the process or its
    attempt is over."""
    contents = [sample.model_dump_json().encode() for sample in body.samples]
    if any(len(content) > MAX_SAMPLE_BYTES for content in contents):
        raise Invalid(f"An update sample has more than {MAX_SAMPLE_BYTES:,} bytes. Leave it as the platform writes it.")
    process = find_process(session, process_id)
    job = jobs.lock(session, process.job_id)
    session.refresh(process)
    attempt = job_rows.attempt(session, job.id, process.attempt)
    if process.attempt != job.attempt or attempt is None or attempt.ended_at is not None or process.ended_at is not None:
        raise Conflict(f"{process.label} of attempt {process.attempt} is over; it stores no samples any more.")
    if process.role != "worker":
        raise Invalid(f"{process.label} makes no pushes, so it stores no samples of them.")
    if jobs.spec_of(job).update_histograms is None:
        raise Invalid(f"{job.name} measures no updates: its job file has no `update_histograms`.")
    count, nbytes, _ = repository.totals(session, job.id)
    settings, dropped = platform.settings, 0
    for sample, content in zip(body.samples, contents, strict=True):
        if count >= settings.job_update_samples or nbytes + len(content) > settings.job_update_bytes:
            dropped += 1
            continue
        count, nbytes = count + 1, nbytes + len(content)
        row = {"job_id": job.id, "seq": feed.take(session, job), "attempt": process.attempt, "rank": process.rank}
        row |= sample.model_dump(include={"step", "staleness", "lost"})
        repository.put(session, row | {"size": len(content), "content": content})
    if not dropped:
        return UpdatesOutcome()
    why = (
        f"the job has {count:,} update samples of {nbytes / 1e6:,.1f} MB, and the platform keeps {settings.job_update_samples:,} "
        f"samples and {settings.job_update_bytes / 1e6:,.0f} MB of a job; raise update_histograms.every"
    )
    return UpdatesOutcome(dropped=dropped, why=why)


def histograms(
    session: Session,
    platform: Platform,
    job_id: UUID,
    *,
    what: What,
    layer: str | None,
    ranks: Sequence[int],
    by: GroupedBy,
    most: int,
) -> UpdateHistograms:
    """Raises: NotFound. Invalid: there is no such layer."""
    job = jobs.find(session, job_id)
    sampling, totals = jobs.spec_of(job).update_histograms, repository.totals(session, job_id)
    count, rows = repository.thinned(session, job_id, of=ranks, most=most)
    samples = [UpdateSample.model_validate_json(content) for _, content in rows]
    layers = layers_of(samples)
    if layer is not None and samples and layer not in (names := [one.name for one in layers]):
        raise Invalid(f"There is no layer '{layer}'; there are {', '.join(names)}.", layer=layer)
    settings, group = platform.settings, by_staleness if by == "staleness" else by_progress
    return UpdateHistograms(
        every=sampling and sampling.every,
        layers=[UpdateLayer(name=one.name, elements=one.elements) for one in layers],
        ranks=repository.ranks(session, job_id),
        count=count,
        used=len(samples),
        lost=totals.lost,
        full=totals.samples >= settings.job_update_samples or totals.bytes + MAX_SAMPLE_BYTES > settings.job_update_bytes,
        what=what,
        layer=layer,
        groups=group(samples, what, layer),
    )


def list_samples(session: Session, job_id: UUID, *, ranks: Sequence[int], after: int, limit: int) -> UpdateSamplePage:
    """Raises: NotFound."""
    jobs.find(session, job_id)
    rows = repository.page(session, job_id, of=ranks, after=after, limit=limit + 1)
    items = [
        StoredUpdateSample(seq=row.seq, rank=row.rank, attempt=row.attempt, sample=UpdateSample.model_validate_json(content))
        for row, content in rows[:limit]
    ]
    return UpdateSamplePage(items=items, next=items[-1].seq if len(rows) > limit else None)
