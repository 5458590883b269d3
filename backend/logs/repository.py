from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session

from backend.jobs.models import ProcessRow
from backend.logs.models import LogChunkRow
from backend.logs.schemas import Which

MAX_CHUNKS = 500
"""Chunks per page."""
MAX_BYTES = 1024**2
"""Bytes of text per page. A single chunk may have more."""


def process_of_node(session: Session, process_id: UUID, node_id: UUID) -> ProcessRow | None:
    process = session.get(ProcessRow, process_id)
    return process if process is not None and process.node_id == node_id else None


def between(session: Session, job_id: UUID, after: int, upto: int) -> list[tuple[LogChunkRow, ProcessRow]]:
    """All of them: whoever asks has chosen a portion."""
    return _chunks(session, job_id, LogChunkRow.seq > after, LogChunkRow.seq <= upto)


def page(
    session: Session, job_id: UUID, which: Which, *, after: int = 0, before: int | None = None, last: bool = False
) -> tuple[list[tuple[LogChunkRow, ProcessRow]], bool]:
    """The first chunks after `after`, or with `last` the last ones before `before`: at least one, up to MAX_CHUNKS and MAX_BYTES;
    and whether there are more."""
    wanted = [LogChunkRow.job_id == job_id, LogChunkRow.seq > after]
    if before is not None:
        wanted.append(LogChunkRow.seq < before)
    if which.process is not None:
        wanted.append(LogChunkRow.process_id == which.process)
    if which.role is not None:
        wanted.append(ProcessRow.role == which.role)
    if which.rank is not None:
        wanted.append(ProcessRow.rank == which.rank)
    seqs = _portion(session, wanted, last=last)
    fitting = _fitting(seqs)
    chosen = [seq for seq, _ in seqs[:fitting]]
    found = _chunks(session, job_id, LogChunkRow.seq.in_(chosen)) if chosen else []
    return found, fitting < len(seqs)


def leave_out(session: Session, process_id: UUID, begin: int, end: int, line: Callable[[int], str]) -> None:
    """Remove the chunks that begin and end between these bytes of a process's output. The first one stays, and says so."""
    C = LogChunkRow
    between = (C.process_id == process_id, C.offset >= begin)
    found = session.execute(select(C.job_id, C.seq, C.offset).where(*between).order_by(C.offset)).all()
    ends = [row.offset for row in found[1:] if row.offset <= end]  # where the chunk before it ends
    if not ends:
        return
    first = found[0]
    session.execute(delete(C).where(*between, C.job_id == first.job_id, C.offset > first.offset, C.offset < ends[-1]))
    said = update(C).where(C.job_id == first.job_id, C.seq == first.seq)
    session.execute(said.values(text=line(ends[-1] - first.offset)))


def _portion(session: Session, wanted: list[ColumnElement[bool]], *, last: bool) -> list[tuple[int, int]]:
    """Number and bytes of MAX_CHUNKS + 1 chunks, in the order of reading. Postgres knows sizes without reading the texts."""
    statement = (
        select(LogChunkRow.seq, func.octet_length(LogChunkRow.text))
        .join(ProcessRow, ProcessRow.id == LogChunkRow.process_id)
        .where(*wanted)
        .order_by(LogChunkRow.seq.desc() if last else LogChunkRow.seq)
        .limit(MAX_CHUNKS + 1)
    )
    return [(seq, size) for seq, size in session.execute(statement)]


def _fitting(seqs: list[tuple[int, int]]) -> int:
    """How many of these make a page."""
    held = 0
    for count, (_, size) in enumerate(seqs[:MAX_CHUNKS]):
        held += size
        if held > MAX_BYTES and count:
            return count
    return min(len(seqs), MAX_CHUNKS)


def _chunks(session: Session, job_id: UUID, *wanted: ColumnElement[bool]) -> list[tuple[LogChunkRow, ProcessRow]]:
    """Each with its process, oldest first."""
    statement = (
        select(LogChunkRow, ProcessRow)
        .join(ProcessRow, ProcessRow.id == LogChunkRow.process_id)
        .where(LogChunkRow.job_id == job_id, *wanted)
        .order_by(LogChunkRow.seq)
    )
    return [(chunk, process) for chunk, process in session.execute(statement)]
