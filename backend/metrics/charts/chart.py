"""The series of jobs, as charts walk them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.metrics import repository
from backend.metrics.charts.walk import Line
from backend.metrics.store import blocks, folding
from backend.metrics.store.points import POINT, Array, joined
from backend.metrics.store.waiting import apart
from gradstream.process.order import label_of


def lines(session: Session, job_id: UUID, names: Sequence[str] | None = None) -> list[Line]:
    """The series of a job, complete. Reads one state of the database if the transaction does."""
    return lines_of(session, [job_id], names)[job_id]


def lines_of(session: Session, job_ids: Sequence[UUID], names: Sequence[str] | None = None) -> dict[UUID, list[Line]]:
    """`lines` of each of several jobs, in as many statements as those of one."""
    rows = [row for row in repository.series_of(session, job_ids, names) if row.count]
    waiting: dict[tuple[UUID, int, str, str, int], list[Array]] = defaultdict(list)
    behind = {row.job_id for row in rows if row.count > row.folded}
    if behind:
        wanted = {row.name for row in rows}
        for batch in repository.waiting_batches(session, list(behind)):
            for group in apart.groups(batch.payload):
                if group.name in wanted:
                    waiting[batch.job_id, batch.attempt, label_of(batch.source), group.name, group.rank].append(group.points)
    found: dict[UUID, list[Line]] = {job_id: [] for job_id in job_ids}
    for row in rows:
        key = row.job_id, row.attempt, row.source, row.name, row.rank
        found[row.job_id].append(Line(row, folding.summary(row), joined(waiting.get(key, []))))
    return found


def read(session: Session, wanted: Sequence[tuple[int, int, int]]) -> list[Array]:
    """The points (level 0) or summaries of each of these blocks of (series id, level, number). Raises: BlockMissing."""
    data = repository.blocks(session, wanted) if wanted else []
    return [blocks.unpack([each], blocks.SUMMARY if level else POINT)[0] for each, (_, level, _) in zip(data, wanted, strict=True)]
