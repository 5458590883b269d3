"""Output of processes: stored as it comes, given as a page, a tail or a part of the stream."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy.orm import Session

from backend.db import storable
from backend.jobs import feed
from backend.jobs import service as jobs
from backend.jobs.models import ProcessRow
from backend.logs import repository
from backend.logs.models import LogChunkRow
from backend.logs.schemas import LogChunk, LogPage, LogPosition, PostLog
from gradstream.errors import NotFound


def append(session: Session, node_id: UUID, body: PostLog) -> LogPosition:
    """Store what is new of a process's output. Offsets make repeats harmless; a gap is asked for again."""
    process = repository.process_of_node(session, body.process_id, node_id)
    if process is None:
        raise NotFound("This node has no such process.", process=str(body.process_id))
    job = jobs.lock(session, process.job_id)
    session.refresh(process)
    end = body.offset + (len(body.text.encode()) if body.size is None else body.size)
    if body.offset > process.log_bytes or end <= process.log_bytes:
        return LogPosition(next_offset=process.log_bytes)
    text = body.text
    if body.offset < process.log_bytes:
        text = text.encode()[process.log_bytes - body.offset :].decode(errors="replace")
    row = LogChunkRow(
        job_id=job.id, seq=feed.take(session, job), process_id=process.id, offset=process.log_bytes,
        text=storable(text),
    )  # fmt: skip
    session.add(row)
    process.log_bytes = end
    return LogPosition(next_offset=end)


def between(session: Session, job_id: UUID, after: int, upto: int) -> list[LogChunk]:
    """For the stream: what has numbers above `after`, up to `upto`."""
    return _views(repository.between(session, job_id, after, upto))


def page(
    session: Session, job_id: UUID, *, process: UUID | None, role: str | None, rank: int | None, after: int, tail: int | None
) -> LogPage:  # fmt: skip
    jobs.find(session, job_id)
    items = _views(repository.page(session, job_id, process=process, role=role, rank=rank, after=after, last=tail is not None))
    items = items if tail is None else _tail(items, tail)
    return LogPage(items=items, next=items[-1].seq if items else after)


def tail_of(session: Session, process: ProcessRow, lines: int = 20) -> str:
    """The last lines of a process, for the event that says how it failed."""
    chunks = repository.page(session, process.job_id, process=process.id, role=None, rank=None, after=0, last=True)
    text = "".join(chunk.text for chunk, _ in chunks)
    return "\n".join(text.rstrip().splitlines()[-lines:])


def _views(rows: Iterable[tuple[LogChunkRow, ProcessRow]]) -> list[LogChunk]:
    return [
        LogChunk(
            seq=chunk.seq, process_id=process.id, label=process.label, attempt=process.attempt,
            offset=chunk.offset, time=chunk.time, text=chunk.text,
        )
        for chunk, process in rows
    ]  # fmt: skip


def _tail(chunks: list[LogChunk], lines: int) -> list[LogChunk]:
    """The chunks at the end that hold at least so many lines."""
    held = 0
    for at in range(len(chunks) - 1, -1, -1):
        held += chunks[at].text.count("\n")
        if held > lines:
            return chunks[at:]
    return chunks
