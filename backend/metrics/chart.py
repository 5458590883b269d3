"""The series of a job, as charts walk them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.metrics import blocks, folding, payloads, repository
from backend.metrics.points import POINT, Array, decode, joined, label
from backend.metrics.walk import Line


def lines(session: Session, job_id: UUID, names: Sequence[str] | None = None) -> list[Line]:
    """The series of a job, complete. Reads one state of the database if the transaction does."""
    rows = [row for row in repository.series(session, job_id, names) if row.count]
    waiting: dict[tuple[int, str, str, int], list[Array]] = defaultdict(list)
    store = repository.store(session, job_id)
    if store is not None and any(row.count > row.folded for row in rows):
        wanted = {row.name for row in rows}
        for portion in repository.portions(session, job_id, store.folded, folding.PORTION):
            for batch in portion:
                for group in decode(payloads.unpack(batch.payload)).groups():
                    if group.name in wanted:
                        waiting[batch.attempt, label(batch.source), group.name, group.rank].append(group.points)
    return [
        Line(row, folding.summary(row), joined(waiting.get((row.attempt, row.source, row.name, row.rank), []))) for row in rows
    ]


def block(session: Session, line: Line, level: int, number: int) -> Array:
    """The points (level 0) or summaries of one block of a series, which must exist."""
    data = repository.blocks(session, [(line.row.id, level, number)])
    return blocks.unpack(data, blocks.SUMMARY if level else POINT)[0]
