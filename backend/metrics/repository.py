from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Row, TextClause, delete, func, select, text, tuple_
from sqlalchemy.orm import Session

from backend.jobs.models import JobRow
from backend.metrics.models import MetricBatchRow, MetricSeriesRow, MetricStoreRow
from backend.metrics.origins import SeriesKey
from backend.metrics.store.pyramid import Place

_INSERT_BATCHES = text("""
    INSERT INTO metric_batches (job_id, attempt, seq, source, batch, payload, totals)
    SELECT :job, :attempt, * FROM unnest(
        CAST(:seqs AS bigint[]), CAST(:sources AS text[]), CAST(:numbers AS bigint[]), CAST(:payloads AS bytea[]),
        CAST(:totals AS bytea[]))
""")
_COUNT = text("""
    INSERT INTO metric_series (job_id, attempt, source, name, rank, count, folded)
    SELECT :job, :attempt, *, 0 FROM unnest(
        CAST(:sources AS text[]), CAST(:names AS text[]), CAST(:ranks AS int[]), CAST(:counts AS bigint[]))
    ON CONFLICT (job_id, name, attempt, source, rank) DO UPDATE SET count = excluded.count
""")
_WAIT = text("""
    INSERT INTO metric_stores AS store (job_id, folded, waiting) VALUES (:job, 0, :points)
    ON CONFLICT (job_id) DO UPDATE SET waiting = store.waiting + excluded.waiting
    RETURNING waiting
""")
_FOLDED = text("""
    UPDATE metric_series AS series SET folded = new.folded, summary = new.summary, tally = new.tally
    FROM unnest(CAST(:ids AS bigint[]), CAST(:folded AS bigint[]), CAST(:summaries AS bytea[]), CAST(:tallies AS bytea[]))
        AS new (id, folded, summary, tally)
    WHERE series.id = new.id
""")
_PUT_BLOCKS = text("""
    INSERT INTO metric_blocks (series_id, level, number, data, tally)
    SELECT * FROM unnest(
        CAST(:ids AS bigint[]), CAST(:levels AS int[]), CAST(:numbers AS bigint[]), CAST(:data AS bytea[]),
        CAST(:tallies AS bytea[]))
    ON CONFLICT (series_id, level, number) DO UPDATE SET data = excluded.data, tally = excluded.tally
""")
_BLOCKS = text("""
    SELECT block.series_id, block.level, block.number, block.data
    FROM unnest(CAST(:ids AS bigint[]), CAST(:levels AS int[]), CAST(:numbers AS bigint[])) WITH ORDINALITY
        AS wanted (series_id, level, number, place)
    JOIN metric_blocks AS block USING (series_id, level, number) ORDER BY wanted.place
""")
_TALLIES = text("""
    SELECT block.series_id, block.level, block.number, block.tally
    FROM unnest(CAST(:ids AS bigint[]), CAST(:levels AS int[]), CAST(:numbers AS bigint[])) WITH ORDINALITY
        AS wanted (series_id, level, number, place)
    JOIN metric_blocks AS block USING (series_id, level, number) ORDER BY wanted.place
""")
_STORAGE = text("""
    SELECT (SELECT coalesce(sum(octet_length(payload) + octet_length(totals)), 0) FROM metric_batches WHERE job_id = :job),
           (SELECT coalesce(sum(octet_length(data) + coalesce(octet_length(block.tally), 0)), 0)
            FROM metric_blocks AS block JOIN metric_series ON id = series_id
            WHERE job_id = :job)
""")
_OVERDUE = text("""
    SELECT jobs.id FROM jobs JOIN metric_stores ON job_id = jobs.id
    WHERE ended_at IS NOT NULL AND forgotten_at IS NULL AND jobs.id <> ALL(CAST(:but AS uuid[]))
      AND jsonb_typeof(spec #> '{retention,metrics}') = 'number'
      AND clock_timestamp() - ended_at > make_interval(secs =>
        CASE jsonb_typeof(spec #> '{retention,metrics}') WHEN 'number'
        THEN CAST(LEAST(CAST(spec #> '{retention,metrics}' AS numeric), CAST(:forever AS numeric)) AS float8)
        ELSE CAST(:forever AS float8) END)
    ORDER BY ended_at LIMIT :most
""")
_FOREVER = 1000 * 365.25 * 86_400
"""Seconds. A retention that is longer ends here, since an interval or a date of Postgres would not hold it."""


_AT_ONCE = 500
"""Batches in memory."""


class BlockMissing(RuntimeError):
    """A block is not there. Other blocks would take its place, and a chart would show them where they are not."""


class NewBatch(NamedTuple):
    seq: int
    source: str
    number: int
    payload: bytes
    totals: bytes


def known_batches(session: Session, job_id: UUID, attempt: int, batches: Sequence[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the batches (source, number) that are stored already."""
    B = MetricBatchRow
    statement = select(B.source, B.batch).where(
        B.job_id == job_id, B.attempt == attempt, tuple_(B.source, B.batch).in_(list(batches))
    )
    return {(source, number) for source, number in session.execute(statement)}


def insert_batches(session: Session, job_id: UUID, attempt: int, batches: Sequence[NewBatch]) -> None:
    seqs, sources, numbers, payloads, totals = (list(column) for column in zip(*batches, strict=True))
    session.execute(
        _INSERT_BATCHES,
        {
            "job": job_id,
            "attempt": attempt,
            "seqs": seqs,
            "sources": sources,
            "numbers": numbers,
            "payloads": payloads,
            "totals": totals,
        },
    )


def counts(session: Session, job_id: UUID, attempt: int) -> dict[SeriesKey, int]:
    """Return the number of points of each series of an attempt."""
    S = MetricSeriesRow
    statement = select(S.source, S.name, S.rank, S.count).where(S.job_id == job_id, S.attempt == attempt)
    return {(source, name, rank): count for source, name, rank, count in session.execute(statement)}


def count(session: Session, job_id: UUID, attempt: int, counted: dict[SeriesKey, int]) -> None:
    """Enter the numbers of points that these series now have; some are new."""
    sources, names, ranks = (list(column) for column in zip(*counted, strict=True))
    values = {"sources": sources, "names": names, "ranks": ranks, "counts": list(counted.values())}
    session.execute(_COUNT, {"job": job_id, "attempt": attempt, **values})


def wait(session: Session, job_id: UUID, points: int) -> int:
    """Note that `points` more points wait to be folded; return how many do now."""
    return int(session.execute(_WAIT, {"job": job_id, "points": points}).scalar_one())


def store(session: Session, job_id: UUID) -> MetricStoreRow | None:
    return session.get(MetricStoreRow, job_id, populate_existing=True)


def batches(
    session: Session, job_id: UUID, *, after: int, upto: int | None = None, limit: int | None = None, source: str | None = None
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


class WaitingBatch(NamedTuple):
    job_id: UUID
    attempt: int
    source: str
    payload: bytes


def waiting_batches(session: Session, job_ids: Sequence[UUID]) -> Iterator[WaitingBatch]:
    """Yield the batches that are not in blocks yet, of each job in the order of arrival; reads some at a time."""
    B = MetricBatchRow
    statement = (
        select(B.job_id, B.attempt, B.source, B.payload)
        .join(MetricStoreRow, (MetricStoreRow.job_id == B.job_id) & (B.seq > MetricStoreRow.folded))
        .where(B.job_id.in_(list(job_ids)))
        .order_by(B.job_id, B.seq)
    )
    for row in session.execute(statement.execution_options(yield_per=_AT_ONCE)):
        yield WaitingBatch(*row)


def series(session: Session, job_id: UUID, names: Sequence[str] | None = None) -> list[MetricSeriesRow]:
    """Return the series of a job by attempt, source, name and rank."""
    return series_of(session, [job_id], names)


def series_of(session: Session, job_ids: Sequence[UUID], names: Sequence[str] | None = None) -> list[MetricSeriesRow]:
    """Return the series of several jobs; those of each job in the same order."""
    S = MetricSeriesRow
    statement = select(S).where(S.job_id.in_(list(job_ids))).order_by(S.attempt, S.source, S.name, S.rank)
    if names is not None:
        statement = statement.where(S.name.in_(list(names)))
    return list(session.scalars(statement.execution_options(populate_existing=True)))


def names(session: Session, job_id: UUID) -> list[tuple[str, int, int]]:
    """Return each metric's (name, series, points)."""
    S = MetricSeriesRow
    statement = select(S.name, func.count(), func.sum(S.count)).where(S.job_id == job_id).group_by(S.name).order_by(S.name)
    return [(name, many, int(points)) for name, many, points in session.execute(statement)]


def blocks(session: Session, wanted: Sequence[tuple[int, int, int]]) -> list[bytes]:
    """Return the blocks (series id, level, number), in this order. Raises: BlockMissing."""
    return [row.data for row in _found(session, _BLOCKS, wanted)]


def tallies(session: Session, wanted: Sequence[tuple[int, int, int]]) -> list[bytes | None]:
    """Return the tallies of the blocks (series id, level, number), in this order. Raises: BlockMissing."""
    return [row.tally for row in _found(session, _TALLIES, wanted)]


def _found(session: Session, statement: TextClause, wanted: Sequence[tuple[int, int, int]]) -> Sequence[Row[Any]]:
    ids, levels, numbers = (list(column) for column in zip(*wanted, strict=True))
    rows = session.execute(statement, {"ids": ids, "levels": levels, "numbers": numbers}).all()
    if len(rows) != len(wanted):
        series, level, number = min(set(wanted) - {(row.series_id, row.level, row.number) for row in rows}, default=wanted[0])
        raise BlockMissing(f"block {number} of level {level} of the metric series {series} is not in the database")
    return rows


def put_blocks(session: Session, new: Iterable[tuple[int, Place, bytes, bytes | None]]) -> None:
    """Write blocks, each as (series id, place, data, tally)."""
    rows = [(series_id, level, number, data, tally) for series_id, (level, number), data, tally in new]
    ids, levels, numbers, data, tallies = (list(column) for column in zip(*rows, strict=True))
    session.execute(_PUT_BLOCKS, {"ids": ids, "levels": levels, "numbers": numbers, "data": data, "tallies": tallies})


def set_folded(session: Session, rows: Sequence[tuple[int, int, bytes, bytes | None]]) -> None:
    """Update series, each as (series id, points in blocks, their summary, their tally)."""
    ids, folded, summaries, tallies = (list(column) for column in zip(*rows, strict=True))
    session.execute(_FOLDED, {"ids": ids, "folded": folded, "summaries": summaries, "tallies": tallies})


def waiting(session: Session, most: int, *, but: Collection[UUID] = ()) -> list[UUID]:
    """Return ended jobs with points that wait to be folded, without those in `but`."""
    statement = (
        select(MetricStoreRow.job_id)
        .join(JobRow, JobRow.id == MetricStoreRow.job_id)
        .where(MetricStoreRow.waiting > 0, JobRow.ended_at.is_not(None), MetricStoreRow.job_id.not_in(list(but)))
    )
    return list(session.scalars(statement.limit(most)))


def storage(session: Session, job_id: UUID) -> tuple[int, int]:
    """Return the bytes of batches and of blocks."""
    batches, blocks = session.execute(_STORAGE, {"job": job_id}).one()
    return int(batches), int(blocks)


def overdue(session: Session, most: int, *, but: Collection[UUID] = ()) -> list[UUID]:
    """Return ended jobs that have metrics whose `retention` is over, without those in `but`."""
    return list(session.scalars(_OVERDUE, {"most": most, "but": list(but), "forever": _FOREVER}))


def forget_series(session: Session, job_id: UUID) -> None:
    session.execute(delete(MetricSeriesRow).where(MetricSeriesRow.job_id == job_id))


def forget_batches(session: Session, job_id: UUID, upto: int, most: int) -> int:
    """Remove at most `most` batches with numbers up to `upto`, oldest first; return how many were there."""
    B = MetricBatchRow
    oldest = select(B.seq).where(B.job_id == job_id, B.seq <= upto).order_by(B.seq).limit(most)
    gone = session.execute(delete(B).where(B.job_id == job_id, B.seq.in_(oldest.scalar_subquery())).returning(B.seq))
    return len(gone.all())


def batches_upto(session: Session, job_id: UUID, upto: int) -> int:
    """Return the number of batches with numbers up to `upto`."""
    B = MetricBatchRow
    return session.scalar(select(func.count()).where(B.job_id == job_id, B.seq <= upto)) or 0
