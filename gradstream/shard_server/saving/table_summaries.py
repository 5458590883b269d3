"""Summaries of this server's tables, made now and then: a portion of the rows between two entries of the log."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gradstream.center.parameters.center import Center
from gradstream.errors import Unavailable
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.table_summary import (
    LONGEST_NAME,
    MAX_TABLES,
    HottestKey,
    ShardSummary,
    SummarizedTable,
    summary_file,
)
from gradstream.process.saving.uploads import Uploads
from gradstream.process.store import Store, open_store

if TYPE_CHECKING:  # needs numba, which jobs without tables never import
    from gradstream.center.tables.hosted import HostedTables
    from gradstream.center.tables.summaries.sweep import TableSweep
    from gradstream.center.tables.table import EmbeddingTable

log = logging.getLogger(__name__)

SHARE = 0.005
"""Share of the server's time that it reads rows for summaries, at most."""
FINISH = 20.0
"""Seconds within which the last summary is stored, or left out."""


class TableSummaries:
    """A job in a folder of its own (`gradstream train`) makes none."""

    def __init__(self, order: ProcessOrder, every: float) -> None:
        """`every`: seconds between two."""
        self._order, self._every, self._is_wanted = order, every, not order.store.is_folder
        self._due = time.monotonic() + min(every, 1.0)
        self._sweeps: dict[str, TableSweep] = {}
        self._spent = 0.0
        """Seconds that this summary took so far."""
        self._uploads: Uploads | None = None
        self._last: _SummaryFile | None = None

    @property
    def is_reading(self) -> bool:
        return bool(self._sweeps)

    def read_portion(self, tables: HostedTables, center: Center) -> None:
        """Read some rows, if a summary is due, and store it when all are read."""
        if not self._sweeps and not (self._is_due and self._begin(tables)):
            return
        began = time.perf_counter()
        unread = next((sweep for sweep in self._sweeps.values() if not sweep.is_complete), None)
        if unread:
            unread.read_portion()
        self._spent += time.perf_counter() - began
        if all(sweep.is_complete for sweep in self._sweeps.values()):
            self._store(tables, center)

    def finish(self, tables: HostedTables, center: Center) -> None:
        """Store a last one, of the trained rows."""
        self._sweeps.clear()
        if not (self._is_wanted and self._begin(tables)):
            return
        while self._sweeps:
            self.read_portion(tables, center)
        try:
            if self._uploads:
                self._uploads.finish(FINISH)
        except Unavailable as error:
            log.warning("the last summary of the tables is left out: %s", error)

    @property
    def _is_due(self) -> bool:
        return self._is_wanted and time.monotonic() >= self._due and (self._last is None or self._last.is_done)

    def _begin(self, tables: HostedTables) -> bool:
        from gradstream.center.tables.summaries.sweep import TableSweep  # needs numba

        self._spent = 0.0
        self._sweeps = {name: TableSweep(tables.tables[name]) for name in _summarized(tables)}
        return bool(self._sweeps)

    def _store(self, tables: HostedTables, center: Center) -> None:
        found = {name: _summary(tables.tables[name], sweep) for name, sweep in self._sweeps.items()}
        place = {"version": center.version, "samples": center.samples, "left_out": len(tables.tables) - len(found)}
        self._last = _SummaryFile(self._order.rank, ShardSummary(shard=self._order.rank, tables=found, **place))
        self._uploads = self._uploads or Uploads(open_store(self._order.store, self._order))
        self._uploads.add_all(self._last, needed=False)
        self._sweeps.clear()
        self._due = time.monotonic() + max(self._every, self._spent / SHARE)


def _summarized(tables: HostedTables) -> list[str]:
    return [name for name in tables.tables if len(name) <= LONGEST_NAME][:MAX_TABLES]


def _summary(table: EmbeddingTable, sweep: TableSweep) -> SummarizedTable:
    found = sweep.summary()
    return SummarizedTable(
        rows=table.alive,
        candidates=table.waiting,
        nbytes=table.nbytes,
        made=table.made,
        evicted=table.evicted_rows,
        counted=found.rows,
        hottest=tuple(HottestKey(**asdict(row)) for row in found.hottest),
        ages=found.ages,
        scores=found.scores,
    )


@dataclass(slots=True)
class _SummaryFile:
    shard: int
    summary: ShardSummary
    is_done: bool = False
    """It is stored, or could not be."""

    @property
    def name(self) -> str:
        return summary_file(self.shard)

    @property
    def nbytes(self) -> int:
        return TextContent(self.summary.model_dump_json()).nbytes

    def put_into(self, store: Store) -> None:
        """Raises: Unavailable."""
        try:
            store.put(self.name, TextContent(self.summary.model_dump_json()))
        finally:
            self.is_done = True
