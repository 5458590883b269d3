"""Media of jobs: what a process may add, and what users read of it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts.admitting import find_process
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.media import repository
from backend.media.contents import HistogramContent, check_item
from backend.platform import Platform
from gradstream.api.media import JobMedia, MediaItem, MediaName, MediaPage, StoredHistogram, StoredHistograms
from gradstream.errors import Conflict, Invalid, NotFound
from gradstream.user_logging.items import MediaKind, file_name
from gradstream.user_logging.posted import MediaOutcome, PostedMedia

MEDIA_TYPES: dict[str, str] = {
    "image": "image/png",
    "figure": "image/png",
    "text": "text/plain; charset=utf-8",
    "table": "application/json",
    "histogram": "application/json",
}
_OF_NO_MEDIA = "server"


def put(session: Session, platform: Platform, process_id: UUID, body: PostedMedia) -> MediaOutcome:
    """Store the items of a process, as far as its job may have more. Raises: NotSignedIn, Invalid. Conflict: the process or its
    attempt is over."""
    sizes = [check_item(item) for item in body.items]
    process = find_process(session, process_id)
    job = jobs.lock(session, process.job_id)
    session.refresh(process)
    attempt = job_rows.attempt(session, job.id, process.attempt)
    if process.attempt != job.attempt or attempt is None or attempt.ended_at is not None or process.ended_at is not None:
        raise Conflict(f"{process.label} of attempt {process.attempt} is over; it stores no media any more.")
    if process.role == _OF_NO_MEDIA:
        raise Invalid(f"{process.label} runs no user code, so it stores no media.")
    count, nbytes = repository.totals(session, job.id)
    settings, dropped = platform.settings, 0
    for item, size in zip(body.items, sizes, strict=True):
        if count >= settings.job_media_items or nbytes + len(item.content) > settings.job_media_bytes:
            dropped += 1
            continue
        count, nbytes = count + 1, nbytes + len(item.content)
        width, height = size or (None, None)
        row = {"job_id": job.id, "seq": feed.take(session, job), "attempt": process.attempt, "rank": process.rank}
        row |= item.model_dump(include={"name", "kind", "step", "samples", "version"})
        row |= {"time": datetime.fromtimestamp(item.time, UTC), "size": len(item.content), "width": width, "height": height}
        repository.put(session, row | {"content": item.content})
    if not dropped:
        return MediaOutcome()
    why = (
        f"the job has {count:,} items of {nbytes / 1e6:,.1f} MB, and the platform keeps {settings.job_media_items:,} items and "
        f"{settings.job_media_bytes / 1e6:,.0f} MB of a job; log less, or raise its GRADSTREAM_JOB_MEDIA_BYTES"
    )
    return MediaOutcome(dropped=dropped, why=why)


def list_names(session: Session, platform: Platform, job_id: UUID) -> JobMedia:
    """Raises: NotFound."""
    jobs.find(session, job_id)
    found = [MediaName.model_validate(row) for row in repository.names(session, job_id)]
    return JobMedia(items=found, bytes=sum(name.bytes for name in found), max_bytes=platform.settings.job_media_bytes)


def list_items(
    session: Session, job_id: UUID, *, name: str | None, kind: MediaKind | None, rank: int | None, after: int, limit: int
) -> MediaPage:
    """Raises: NotFound."""
    jobs.find(session, job_id)
    rows = repository.page(session, job_id, name=name, kind=kind, rank=rank, after=after, limit=limit + 1)
    items = [MediaItem.model_validate(row) for row in rows[:limit]]
    return MediaPage(items=items, next=items[-1].seq if len(rows) > limit else None)


def find_content(session: Session, job_id: UUID, seq: int) -> tuple[bytes, str, str]:
    """Return content, media type and the name of a file for it. Raises: NotFound."""
    jobs.find(session, job_id)
    found = repository.content(session, job_id, seq)
    if found is None:
        raise NotFound(f"The job has no media item {seq}; a later one of the same step may have replaced it.", job=str(job_id))
    row, content = found
    kind: MediaKind = row.kind  # type: ignore[assignment]  # `check_item` has seen it
    return content, MEDIA_TYPES[kind], file_name(row.name, row.rank, row.step, kind)


def histograms(session: Session, job_id: UUID, *, name: str, rank: int | None, most: int) -> StoredHistograms:
    """Raises: NotFound."""
    jobs.find(session, job_id)
    count, rows = repository.thinned(session, job_id, name, rank, most)
    items = []
    for row, packed in rows:
        place = {key: getattr(row, key) for key in ("seq", "rank", "step", "samples", "version", "time")}
        items.append(StoredHistogram(**place, **HistogramContent.model_validate_json(packed).model_dump()))
    return StoredHistograms(items=items, count=count)
