"""The tables of a model at one shard of the center: lookups, pushes that count alone, rounds of pushes that count together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from gradstream.center.tables.hashing import buckets_of_shard
from gradstream.center.tables.payload import (
    FoundRows,
    RowGradients,
    RowKeys,
    decoded_gradients,
    encoded_values,
    joined,
    newer_rows,
)
from gradstream.center.tables.storage.contents import add_contents, read_contents
from gradstream.center.tables.storage.copying import TablesCopy, forget_removed, put_piece
from gradstream.center.tables.storage.row_file import StoredRows
from gradstream.center.tables.storage.table_contents import TableContents
from gradstream.center.tables.table import EmbeddingTable, RowOutcome
from gradstream.errors import Invalid
from gradstream.spec import JobSpec
from gradstream.spec.shrink_schedule import ShrinkSchedule
from gradstream.spec.tables import specs_of

Pushed = Mapping[str, RowGradients]
CHECKPOINTS, EXPORTS = "checkpoints", "exports"
"""Readers of keys that were removed: see `HostedTables.forget_removed`."""


@dataclass(slots=True)
class RowAccount:
    """Keys of pushes by their outcome: pushed = applied + counted + missed + dropped."""

    applied: int = 0
    counted: int = 0
    missed: int = 0
    dropped: int = 0

    def add(self, outcome: RowOutcome | RowAccount) -> None:
        self.applied += outcome.applied
        self.counted += outcome.counted
        self.missed += outcome.missed
        self.dropped += outcome.dropped

    @property
    def pushed(self) -> int:
        return self.applied + self.counted + self.missed + self.dropped


@dataclass(slots=True)
class RowStaleness:
    """Updates of a row between its lookup and its push, over the keys that were applied."""

    keys: int = 0
    sum: int = 0
    highest: int = 0

    def add(self, outcome: RowOutcome) -> None:
        if outcome.applied:
            self.keys += outcome.applied
            self.sum += int(outcome.staleness.sum())
            self.highest = max(self.highest, int(outcome.staleness.max()))

    @property
    def mean(self) -> float:
        return self.sum / self.keys if self.keys else 0.0


@dataclass(frozen=True, slots=True)
class TableTotals:
    """Sums over all tables of a shard."""

    rows: int
    candidates: int
    nbytes: int
    made: int
    """Rows: made = rows + evicted_rows."""
    evicted_rows: int
    evicted_candidates: int
    account: RowAccount


class HostedTables:
    def __init__(
        self, spec: JobSpec, widths: Mapping[str, int], shard: int, epoch_samples: int = 0, folder: Path | None = None
    ) -> None:
        """`widths`: of the model's tables, by name. `epoch_samples`: of all workers; 0: not known. `folder`: see `EmbeddingTable`.
        Raises: InvalidWorkload: the job names a table that the model lacks."""
        specs, buckets = specs_of(spec.tables, widths), buckets_of_shard(shard, spec.shards)
        self.tables = {
            name: EmbeddingTable(name, width, specs[name], spec.seed, buckets, folder=folder)
            for name, width in sorted(widths.items())
        }
        self.accounts = {name: RowAccount() for name in self.tables}
        self._shrinks = ShrinkSchedule(specs, epoch_samples)
        self._held: dict[int, Pushed] = {}
        """Gradients of pushes that wait for their round to close, by rank."""
        self._staleness = RowStaleness()
        self._read_until: dict[str, int] = {}
        """The mark up to which each reader has the keys that were removed."""
        self.resumed_mark = 0
        """The mark up to which all is in the files that these tables were loaded from."""

    def look_up(self, wanted: Mapping[str, RowKeys]) -> dict[str, FoundRows]:
        """Changes nothing. The rows are encoded; those that a worker's cache may use are left out. Raises: Invalid: there is no
        such table, or a key belongs to another shard."""
        return {name: self._look_up(self._table(name), keys) for name, keys in wanted.items()}

    def _look_up(self, table: EmbeddingTable, wanted: RowKeys) -> FoundRows:
        bound = table.spec.cache.bound if table.spec.cache else 0
        return encoded_values(newer_rows(table.look_up(wanted.keys), wanted, bound), table.spec.codec)

    def check_push(self, pushed: Pushed) -> None:
        """Raises: Invalid: no lookup here leads to such gradients."""
        for name, rows in pushed.items():
            self._table(name).check_push(rows.keys, rows.gradients)

    def hold(self, rank: int, pushed: Pushed) -> None:
        """Keep the gradients of a push until `take_held`."""
        self._held[rank] = {name: decoded_gradients(rows) for name, rows in pushed.items()}

    def take_held(self, rank: int) -> Pushed | None:
        return self._held.pop(rank, None)

    def drop(self, pushed: Pushed) -> None:
        """Count gradients that are not used."""
        for name, rows in pushed.items():
            self.accounts[name].dropped += len(rows.keys)

    def push(self, pushes: Sequence[tuple[Pushed | None, float]], factor: float) -> None:
        """Apply one gradient per key: the sum over pushes of weight times gradient, in the order given; an absent key counts as 0.
        With `gradient: sum` it is the plain sum. `factor`: of the schedule. Raises: Invalid: there is no such table."""
        for name in sorted({name for pushed, _ in pushes for name in pushed or ()}):
            table, parts = (
                self._table(name),
                [(decoded_gradients(pushed[name]), w) for pushed, w in pushes if pushed and name in pushed],
            )
            rows = _merged(parts, weighted=table.spec.gradient == "mean")
            outcome = table.push(rows.keys, rows.loans, rows.gradients, rows.occurrences, rows.clicks, factor)
            self.accounts[name].add(outcome)
            self._staleness.add(outcome)

    def take_staleness(self) -> RowStaleness:
        """Return the staleness of the rows that pushes have changed since this was called last."""
        found, self._staleness = self._staleness, RowStaleness()
        return found

    def shrink_if_due(self, before: int, samples: int) -> None:
        """Shrink the tables whose interval ends between these two numbers of samples of the center."""
        for name in self._shrinks.due(before, samples):
            self.tables[name].shrink()

    def shrink_with_passes(self, before: int, closed: int) -> None:
        """Shrink the tables whose interval ends between these two numbers of passes that are over."""
        for name in self._shrinks.due_with_passes(before, closed):
            self.tables[name].shrink()

    def totals(self) -> TableTotals:
        tables, account = list(self.tables.values()), RowAccount()
        for one in self.accounts.values():
            account.add(one)
        return TableTotals(
            rows=sum(table.alive for table in tables),
            candidates=sum(table.waiting for table in tables),
            nbytes=sum(table.nbytes for table in tables),
            made=sum(table.made for table in tables),
            evicted_rows=sum(table.evicted_rows for table in tables),
            evicted_candidates=sum(table.evicted - table.evicted_rows for table in tables),
            account=account,
        )

    def copy(self, above: int | None, *, candidates: bool = True) -> TablesCopy:
        """Begin a copy of all tables as they are now: see `TableCopy`."""
        return TablesCopy(self.tables, above, candidates=candidates)

    def forget_removed(self, reader: str, until: int) -> None:
        """Forget the keys that were removed up to a mark, as soon as no other reader needs them. `reader`: one of
        the two."""
        self._read_until[reader] = until
        for table in self.tables.values():
            forget_removed(table, min(self._read_until.values()))

    def removed_above(self, mark: int) -> int:
        """Keys that were removed at a later mark than this and are not forgotten."""
        return sum(len(keys) for table in self.tables.values() for at, keys in table.removed or () if at > mark)

    def state(self, *, rows: bool = True) -> dict[str, Any]:
        """A copy of all: columns of each table, and the pushes that wait. `rows`: False leaves the columns out."""
        return {
            "tables": {name: _state_of(table, self.accounts[name], rows=rows) for name, table in self.tables.items()},
            "held": {rank: self._state_of_push(pushed) for rank, pushed in self._held.items()},
        }

    def _state_of_push(self, pushed: Pushed) -> dict[str, Any]:
        return {name: _state_of_held(self._table(name), rows) for name, rows in pushed.items()}

    @classmethod
    def load(
        cls,
        spec: JobSpec,
        state: Mapping[str, Any],
        shard: int,
        epoch_samples: int = 0,
        rows: Iterable[StoredRows] = (),
        folder: Path | None = None,
    ) -> Self:
        """Build the tables from the result of `state` of the same shard. `rows`: the copies that they were left out for, each on
        top of those before it, perhaps with rows of other shards."""
        hosted = cls(spec, {name: of_table["width"] for name, of_table in state["tables"].items()}, shard, epoch_samples, folder)
        for stored in rows:
            for name, piece in stored.pieces.items():
                hosted._table(name).decay_until(stored.times[name])
                put_piece(hosted._table(name), piece)
        for name, of_table in state["tables"].items():
            table = hosted.tables[name]
            if "columns" in of_table:
                table.time = of_table["time"]
                add_contents(table, TableContents.of_tensors(of_table["columns"]))
            table.removed = []
            hosted.resumed_mark = table.mark
            table.mark += 1  # so that a copy above the mark before it is of what changes from now on
            table.decay_until(of_table["time"])
            evicted_rows = of_table.get("evicted_rows", 0)  # absent from older checkpoints, as are the others
            made = of_table.get("made", table.alive + evicted_rows)
            table.restore_counts(made=made, evicted=of_table.get("evicted", 0), evicted_rows=evicted_rows)
            hosted.accounts[name] = RowAccount(**of_table["account"])
        hosted.forget_removed(CHECKPOINTS, hosted.resumed_mark)
        for rank, held in state["held"].items():
            hosted.hold(rank, {name: _rows_from(hosted.tables[name], rows) for name, rows in held.items()})
        return hosted

    def _table(self, name: str) -> EmbeddingTable:
        try:
            return self.tables[name]
        except KeyError as error:
            raise Invalid(f"there is no table '{name}' among {', '.join(self.tables)}") from error


_HELD = ("keys", "gradients", "occurrences", "clicks", "staleness")
_NO_ROW, _GONE = -1, -2
"""In place of the staleness of a row: the key had no row at its lookup; the row of its lookup is gone."""


def _state_of(table: EmbeddingTable, account: RowAccount, *, rows: bool) -> dict[str, Any]:
    columns = {"columns": read_contents(table).tensors()} if rows else {}
    made = {"made": table.made, "evicted": table.evicted, "evicted_rows": table.evicted_rows}
    return {"width": table.width, "time": table.time, **made, "account": asdict(account), **columns}


def _state_of_held(table: EmbeddingTable, rows: RowGradients) -> dict[str, torch.Tensor]:
    """Without loans: rows have other places in the table that is made from a state. Their staleness takes the loans' place."""
    now = table.look_up(rows.keys).loans
    behind = now["updates"].astype(np.int64) - rows.loans["updates"]
    same = rows.loans["incarnation"] == now["incarnation"]
    staleness = np.where(rows.loans["incarnation"] == 0, _NO_ROW, np.where(same, behind, _GONE))
    columns = (rows.keys, rows.gradients, rows.occurrences, rows.clicks, staleness)
    return {name: torch.from_numpy(np.array(values)) for name, values in zip(_HELD, columns, strict=True)}


def _rows_from(table: EmbeddingTable, stored: Mapping[str, torch.Tensor]) -> RowGradients:
    keys, gradients, occurrences, clicks, staleness = (stored[name].numpy() for name in _HELD)
    loans = table.look_up(keys).loans
    loans["updates"] -= np.maximum(staleness, 0).astype(np.uint32)
    loans["place"][staleness < 0] = -1
    loans["incarnation"][staleness == _NO_ROW] = loans["updates"][staleness == _NO_ROW] = 0
    loans["incarnation"][staleness == _GONE] = 1  # of no row, since its place is none
    return RowGradients(keys, loans, gradients, occurrences, clicks)


def _merged(parts: Sequence[tuple[RowGradients, float]], *, weighted: bool) -> RowGradients:
    """One gradient per key. A single part is its own mean, bit for bit."""
    if len(parts) == 1 and (not weighted or parts[0][1] == 1):
        return parts[0][0]
    every = joined([rows for rows, _ in parts])
    keys, first, numbers = np.unique(every.keys, return_index=True, return_inverse=True)
    gradients = np.zeros((len(keys), every.gradients.shape[1]), np.float32)
    occurrences, clicks, begin = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.float32), 0
    for rows, weight in parts:  # the keys of a part are distinct
        mine = numbers[begin : begin + len(rows.keys)]
        begin += len(rows.keys)
        gradients[mine] += np.float32(weight) * rows.gradients if weighted else rows.gradients
        occurrences[mine] += rows.occurrences
        clicks[mine] += rows.clicks
    return RowGradients(keys, every.loans[first], gradients, occurrences, clicks)
