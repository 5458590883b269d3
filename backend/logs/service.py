"""Output of processes: stored as it comes, given as a page, a tail or a part of the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import Database, storable
from backend.jobs import feed
from backend.jobs import service as jobs
from backend.jobs.models import ProcessRow
from backend.logs import bounds, repository
from backend.logs.lines import LogLines
from backend.logs.models import LogChunkRow
from backend.logs.schemas import LogPage, LogPosition, PostLog, Which
from gradstream.api.history import LogChunk
from gradstream.errors import NotFound


def append(session: Session, node_id: UUID, body: PostLog) -> LogPosition:
    """Store what is new of a process's output. Offsets make repeats harmless; the agent resends a gap, unless its node has
    left out what belongs there."""
    process = repository.process_of_node(session, body.process_id, node_id)
    if process is None:
        raise NotFound("This node has no such process.", process=str(body.process_id))
    job = jobs.lock(session, process.job_id)
    session.refresh(process)
    end = body.offset + (len(body.text.encode()) if body.size is None else body.size)
    before = process.log_bytes
    if body.offset - body.omitted > before or end <= before:
        return LogPosition(next_offset=before)
    text, left_out = body.text, max(0, body.offset - before)
    if left_out:
        text = bounds.line_about(left_out) + text
    elif body.offset < before:
        text = text.encode()[before - body.offset :].decode(errors="replace")
    row = LogChunkRow(
        job_id=job.id, seq=feed.take(session, job), process_id=process.id, offset=before + left_out, text=storable(text)
    )
    session.add(row)
    process.log_bytes = end
    bounds.trim(session, process, before)
    return LogPosition(next_offset=end)


def between(session: Session, job_id: UUID, after: int, upto: int) -> list[LogChunk]:
    """For the stream: what has numbers above `after`, up to `upto`."""
    return _views(repository.between(session, job_id, after, upto))


def page(session: Session, job_id: UUID, which: Which, *, after: int) -> LogPage:
    """Raises: NotFound."""
    jobs.find(session, job_id)
    items = _views(repository.page(session, job_id, which, after=after)[0])
    return LogPage(items=items, next=items[-1].seq if items else after)


def tail(session: Session, job_id: UUID, which: Which, before: int | None, lines: int) -> LogPage:
    """About so many lines from the end, or from `before` back. Raises: NotFound."""
    jobs.find(session, job_id)
    rows, more = repository.page(session, job_id, which, before=before, last=True)
    found = _views(rows)
    items = _tail(found, lines)
    begins = len(items) == len(found) and not more
    return LogPage(items=items, next=items[-1].seq if items else 0, earlier=None if begins else items[0].seq)


def whole(database: Database, job_id: UUID, which: Which) -> tuple[str, Iterator[str]]:
    """The job's name, and all output so far in portions of whole lines. Each portion is read in a transaction of its own, so a
    slow reader holds nothing. Raises: NotFound."""
    with database.transaction() as session:
        name = jobs.find(session, job_id).name
    return name, _portions(database, job_id, which)


def _portions(database: Database, job_id: UUID, which: Which) -> Iterator[str]:
    lines, after = LogLines(), 0
    while True:
        with database.transaction() as session:
            chunks = _views(repository.page(session, job_id, which, after=after)[0])
        if not chunks:
            break
        after = chunks[-1].seq
        yield "".join(line for chunk in chunks for line in lines.take(chunk))
    yield "".join(lines.rest())


def tail_of(session: Session, process: ProcessRow, lines: int = 20) -> str:
    """The last lines of a process, for the event that says how it failed."""
    chunks, _ = repository.page(session, process.job_id, Which(process=process.id), last=True)
    text = "".join(chunk.text for chunk, _ in chunks)
    return "\n".join(text.rstrip().splitlines()[-lines:])


def _views(rows: Iterable[tuple[LogChunkRow, ProcessRow]]) -> list[LogChunk]:
    return [
        LogChunk(
            seq=chunk.seq,
            process_id=process.id,
            label=process.label,
            attempt=process.attempt,
            offset=chunk.offset,
            time=chunk.time,
            text=chunk.text,
        )
        for chunk, process in rows
    ]


def _tail(chunks: list[LogChunk], lines: int) -> list[LogChunk]:
    """The chunks at the end that hold at least so many lines."""
    held = 0
    for at in range(len(chunks) - 1, -1, -1):
        held += chunks[at].text.count("\n")
        if held > lines:
            return chunks[at:]
    return chunks
