from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from backend.metrics.models import MetricBatchRow, MetricPointRow
from gradstream.metrics import Point

_INSERT_BATCHES = text("""
    INSERT INTO metric_batches (job_id, attempt, seq, source, batch)
    SELECT :job, :attempt, * FROM unnest(CAST(:seqs AS bigint[]), CAST(:sources AS text[]), CAST(:numbers AS bigint[]))
    ON CONFLICT (job_id, attempt, source, batch) DO NOTHING
    RETURNING seq
""")
_INSERT_POINTS = text("""
    INSERT INTO metric_points (job_id, seq, place, source, name, rank, step, samples, version, time, value)
    SELECT :job, * FROM unnest(
        CAST(:seqs AS bigint[]), CAST(:places AS int[]), CAST(:sources AS text[]), CAST(:names AS text[]), CAST(:ranks AS int[]),
        CAST(:steps AS bigint[]), CAST(:samples AS bigint[]), CAST(:versions AS bigint[]), CAST(:times AS float8[]),
        CAST(:values AS float8[]))
    ON CONFLICT DO NOTHING
""")
# Long series are cut into buckets; each keeps its lowest and its highest point, and the series its two ends.
_SERIES = text("""
    WITH numbered AS (
        SELECT source, rank, seq, place, step, samples, version, time, value,
               row_number() OVER (PARTITION BY source, rank ORDER BY seq, place) AS n,
               count(*) OVER (PARTITION BY source, rank) AS total
        FROM metric_points WHERE job_id = :job AND name = :name
    ), bucketed AS (
        SELECT *, (n - 1) * (:points / 2) / total AS bucket FROM numbered
    ), marked AS (
        SELECT *, row_number() OVER (PARTITION BY source, rank, bucket ORDER BY value, n) AS from_lowest,
                  row_number() OVER (PARTITION BY source, rank, bucket ORDER BY value DESC, n) AS from_highest
        FROM bucketed
    )
    SELECT source, rank, step, samples, version, time, value FROM marked
    WHERE total <= :points OR from_lowest = 1 OR from_highest = 1 OR n = 1 OR n = total
    ORDER BY source, rank, n
""")


def insert_batches(session: Session, job_id: UUID, attempt: int, batches: Sequence[tuple[int, str, int]]) -> set[int]:
    """Enter (seq, source, number); the seqs of those that were not there yet."""
    seqs, sources, numbers = (list(column) for column in zip(*batches, strict=True))
    values = {"job": job_id, "attempt": attempt, "seqs": seqs, "sources": sources, "numbers": numbers}
    return set(session.scalars(_INSERT_BATCHES, values))


def insert_points(session: Session, job_id: UUID, batches: Sequence[tuple[int, str, Sequence[Point]]]) -> None:
    rows = [(seq, place, source, *point) for seq, source, points in batches for place, point in enumerate(points)]
    if not rows:
        return
    names = ("seqs", "places", "sources", "names", "ranks", "steps", "samples", "versions", "times", "values")
    columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    session.execute(_INSERT_POINTS, {"job": job_id, **columns})


def batches(
    session: Session, job_id: UUID, *, after: int, upto: int | None, limit: int | None, source: str | None
) -> list[MetricBatchRow]:
    statement = (
        select(MetricBatchRow).where(MetricBatchRow.job_id == job_id, MetricBatchRow.seq > after).order_by(MetricBatchRow.seq)
    )
    if upto is not None:
        statement = statement.where(MetricBatchRow.seq <= upto)
    if source is not None:
        statement = statement.where(
            MetricBatchRow.source.in_([source]) | MetricBatchRow.source.startswith(f"{source}.", autoescape=True)
        )
    return list(session.scalars(statement.limit(limit)))


def points(
    session: Session, job_id: UUID, *, after: int, upto: int, names: Sequence[str] | None = None, rank: int | None = None
) -> list[MetricPointRow]:  # fmt: skip
    statement = select(MetricPointRow).where(
        MetricPointRow.job_id == job_id, MetricPointRow.seq > after, MetricPointRow.seq <= upto
    )
    if names:
        statement = statement.where(MetricPointRow.name.in_(names))
    if rank is not None:
        statement = statement.where(MetricPointRow.rank == rank)
    return list(session.scalars(statement.order_by(MetricPointRow.seq, MetricPointRow.place)))


def portions(session: Session, job_id: UUID, rows: int) -> Iterator[Sequence[Any]]:
    """All points of a job as they arrived, so many at a time: attempt, source, then as in `gradstream.metrics.Point`."""
    P, B = MetricPointRow, MetricBatchRow
    statement = (
        select(B.attempt, P.source, P.name, P.rank, P.step, P.samples, P.version, P.time, P.value)
        .join(B, (B.job_id == P.job_id) & (B.seq == P.seq))
        .where(P.job_id == job_id)
        .order_by(P.seq, P.place)
    )
    yield from session.execute(statement, execution_options={"yield_per": rows}).partitions()


def highest_step(session: Session, job_id: UUID, attempt: int, name: str) -> dict[int, int]:
    """Of each rank, in one attempt."""
    statement = (
        select(MetricPointRow.rank, func.max(MetricPointRow.step))
        .join(MetricBatchRow, (MetricBatchRow.job_id == MetricPointRow.job_id) & (MetricBatchRow.seq == MetricPointRow.seq))
        .where(MetricPointRow.job_id == job_id, MetricBatchRow.attempt == attempt, MetricPointRow.name == name)
        .group_by(MetricPointRow.rank)
    )
    return {rank: step for rank, step in session.execute(statement)}


def last_values(session: Session, job_id: UUID, name: str) -> dict[int, float]:
    """The last value of each rank."""
    statement = (
        select(MetricPointRow.rank, MetricPointRow.value)
        .where(MetricPointRow.job_id == job_id, MetricPointRow.name == name)
        .order_by(MetricPointRow.seq, MetricPointRow.place)
    )
    return {rank: value for rank, value in session.execute(statement)}


SeriesRow = tuple[str, int, int, int, int, float, float]


def series(session: Session, job_id: UUID, name: str, points: int) -> list[SeriesRow]:
    """(source, rank, step, samples, version, time, value), by source, rank and time of arrival."""
    found = session.execute(_SERIES, {"job": job_id, "name": name, "points": points})
    return [(r.source, r.rank, r.step, r.samples, r.version, r.time, r.value) for r in found]
