"""The summaries of a job's servers, merged: counts add up, and the hottest keys of all are the hottest of those of each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import stored_rows
from backend.jobs import service as jobs
from backend.platform import Platform
from gradstream.api.tables import HotKey, JobTable, JobTables, RowBin
from gradstream.process.saving.table_summary import LOWEST_SCORE, MAX_HOTTEST, HottestKey, ShardSummary, SummarizedTable


def list_tables(session: Session, platform: Platform, job_id: UUID) -> JobTables:
    """Raises: NotFound."""
    servers = jobs.spec_of(jobs.find(session, job_id)).shards
    found = stored_rows.table_summaries(session, platform.files, job_id)
    if found is None:
        return JobTables(attempt=None, servers=0, of_servers=servers, version=None, samples=None, left_out=0, items=[])
    attempt, told = found
    return JobTables(
        attempt=attempt,
        servers=len(told),
        of_servers=servers,
        version=min(each.version for each in told),
        samples=min(each.samples for each in told),
        left_out=max(each.left_out for each in told),
        items=[merge(name, told) for name in sorted({name for each in told for name in each.tables})],
    )


def merge(name: str, told: Sequence[ShardSummary]) -> JobTable:
    parts = [(each.shard, each.tables[name]) for each in told if name in each.tables]
    tables = [table for _, table in parts]
    hottest = sorted(((shard, key) for shard, table in parts for key in table.hottest), key=lambda each: _heat(each[1]))
    return JobTable(
        name=name,
        rows=sum(table.rows for table in tables),
        candidates=sum(table.candidates for table in tables),
        bytes=sum(table.nbytes for table in tables),
        made=sum(table.made for table in tables),
        evicted=sum(table.evicted for table in tables),
        counted=sum(table.counted for table in tables),
        hottest=[_hot_key(shard, key) for shard, key in hottest[:MAX_HOTTEST]],
        ages=_bins([0, *(2.0**n for n in range(63))], [table.ages for table in tables]),
        scores=_scores(tables),
    )


def _scores(tables: Sequence[SummarizedTable]) -> list[RowBin] | None:
    counts = [table.scores for table in tables if table.scores is not None]
    return _bins([0, *(2.0 ** (LOWEST_SCORE + n) for n in range(63))], counts) if counts else None


def _bins(limits: Sequence[float], counts: Sequence[Sequence[int]]) -> list[RowBin]:
    """Add the bins of all servers; without the empty ones at the end. `limits`: where each bin begins."""
    sums = [sum(each) for each in zip_longest(*counts, fillvalue=0)]
    used = max((n + 1 for n, rows in enumerate(sums) if rows), default=0)
    ends = [*limits[1 : len(sums)], None]
    return [RowBin(least=least, below=below, rows=rows) for least, below, rows in zip(limits, ends, sums, strict=False)][:used]


def _heat(key: HottestKey) -> tuple[float, int]:
    return -(key.updates if key.shows is None else key.shows), key.key


def _hot_key(server: int, key: HottestKey) -> HotKey:
    return HotKey(key=str(key.key), server=server, updates=key.updates, shows=key.shows, clicks=key.clicks, score=key.score)
