"""The embedding tables of a model in numbers, from the mini-batches that `measure` trains here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from gradstream.advise.key_counts import KeyCounts
from gradstream.api.plan import TableSize
from gradstream.center.tables import payload
from gradstream.center.tables.half import decode_rows
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys, encoded_values
from gradstream.model.tables import working_rows
from gradstream.spec import JobSpec
from gradstream.spec.tables import specs_of

USUAL_BOUND = 4
"""Bound of the cache that is tried for a table without one."""

if TYPE_CHECKING:
    from gradstream.center.tables.table import EmbeddingTable
    from gradstream.model.rows.working_rows import WorkingRows  # needs numba, which models without tables never import


@dataclass(frozen=True)
class MeasuredTable:
    """Means over the mini-batches of one worker."""

    keys: float
    """Distinct keys."""
    pushed: float
    """Bytes of their gradients."""
    looked_up: float
    """Bytes of their rows."""
    row: int
    """Bytes of a row in the memory of its server, with its part of the index."""
    cold: int = 0
    """The same of a row whose weights lie on the disk; 0: the table is not bounded in memory."""
    samples: int = 0
    """Samples of the mini-batches."""
    distinct: int = 0
    """Distinct keys of all of them."""
    growth: float = 1.0
    """Keys grow as samples ** growth, if they go on as in these mini-batches."""
    cached: float | None = None
    """Share of the rows that a cache of each worker saves, with the bound `cache_bound`. None: too few mini-batches."""
    cache_bound: int = 0

    def size(self, name: str) -> TableSize:
        return TableSize(
            name=name,
            row_bytes=self.row,
            cold_row_bytes=self.cold,
            keys=self.keys,
            push_bytes=self.pushed,
            pull_bytes=self.looked_up,
            samples=self.samples,
            distinct=self.distinct,
            growth=self.growth,
            cached=self.cached,
            cache_bound=self.cache_bound,
        )


class TablesUnderMeasurement:
    """Tables in this process, which learn as they would at a server."""

    def __init__(self, rows: WorkingRows, spec: JobSpec) -> None:
        from gradstream.center.tables.table import EmbeddingTable

        specs = specs_of(spec.tables, rows.widths)
        self.rows = rows
        self._tables = {name: EmbeddingTable(name, width, specs[name], spec.seed) for name, width in rows.widths.items()}
        self._keys, self._pushed, self._looked_up = (dict.fromkeys(rows.widths, 0) for _ in range(3))
        self._counts = {name: KeyCounts() for name in rows.widths}
        self._spec, self._batches = spec, 0
        rows.held.look_up = self._look_up

    def begin(self) -> None:
        """Count from here on."""
        self.rows.take_gradients()
        self._looked_up = dict.fromkeys(self._looked_up, 0)

    def end_batch(self) -> None:
        """Apply the gradients of a mini-batch."""
        self._batches += 1
        for name, found in self.rows.take_gradients().items():
            self._keys[name] += len(found.keys)
            self._counts[name].take(found.keys)
            self._pushed[name] += payload.nbytes({name: found})
            self._push(name, found)

    def measured(self) -> dict[str, MeasuredTable]:
        return {name: self._measured(name, table) for name, table in self._tables.items()}

    def _measured(self, name: str, table: EmbeddingTable) -> MeasuredTable:
        n, counts, cache = max(1, self._batches), self._counts[name], table.spec.cache
        bound = cache.bound if cache else USUAL_BOUND
        return MeasuredTable(
            self._keys[name] / n,
            self._pushed[name] / n,
            self._looked_up[name] / n,
            table.row_nbytes,
            table.cold_row_nbytes,
            len(counts.batches) * self._spec.batch_size,
            counts.distinct,
            counts.growth,
            counts.cached(self._spec.roles.worker.count, cache.rows if cache else None, bound),
            bound,
        )

    def _look_up(self, wanted: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        tables = {name: self._tables[name] for name in wanted}
        found = {name: encoded_values(table.look_up(wanted[name].keys), table.spec.codec) for name, table in tables.items()}
        for name, rows in found.items():
            self._looked_up[name] += payload.nbytes({name: rows})
        return found

    def _push(self, name: str, rows: RowGradients) -> None:
        self._tables[name].push(rows.keys, rows.loans, decode_rows(rows.gradients), rows.occurrences, rows.clicks)


def tables_of(model: nn.Module, spec: JobSpec) -> TablesUnderMeasurement | None:
    """None: the model has none. Raises: InvalidWorkload."""
    rows = working_rows(model, spec)
    return TablesUnderMeasurement(rows, spec) if rows else None
