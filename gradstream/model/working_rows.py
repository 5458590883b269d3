"""The rows that a worker trains with: read once between two pushes, and given back as gradients with the next.

push --> the keys of the next mini-batches, as `ids` names them --> their rows come with the response
forward --> other ids, not read since the last push --> one lookup --> leaf tensors of rows
backward --> gradients by forward --> one gradient per key at the end of a mini-batch --> with the push
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gradstream.center.tables.hashing import bucket_order, buckets_of
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys, decoded_values, encoded_gradients, joined, piece
from gradstream.center.tables.storage.worker_rows import loaded_rows, saved_rows
from gradstream.errors import InvalidWorkload
from gradstream.model.tables import check_ids
from gradstream.model.usercode import blaming
from gradstream.nn import kernels
from gradstream.nn.embedding import TableModule, widths_of
from gradstream.nn.gradients import LookUp, TableForwards, merged
from gradstream.nn.ids import DistinctIds, as_array, checked_ids, distinct_ids
from gradstream.spec import JobSpec
from gradstream.spec.tables import specs_of, split_member
from gradstream.train.row_cache import RowCaches

LookUpRows = Callable[[Mapping[str, RowKeys]], Mapping[str, FoundRows]]


@dataclass(frozen=True, slots=True)
class NamedIds:
    """The ids of one table that `ids` has named for a mini-batch."""

    ids: NDArray[np.int64]
    """A copy, flat."""
    distinct: DistinctIds
    """In bucket order."""


Named = Mapping[str, NamedIds]
"""By table."""


class WorkingRows:
    """The rows of all tables of one model."""

    def __init__(self, model: nn.Module, spec: JobSpec) -> None:
        """Raises: InvalidWorkload: the job names a table that the model lacks, or a table has two widths."""
        modules = [module for module in model.modules() if isinstance(module, TableModule)]
        self.widths = widths_of(modules)
        self._specs = specs = specs_of(spec.tables, self.widths)
        self.caches: RowCaches | None = None
        """Rows that outlive a push; None: none do."""
        self._rows: dict[str, FoundRows] = {}
        """Those looked up since the last push."""
        self._sorted: set[str] = set()
        """Tables whose rows lie in the order of their keys, since they were held: many rows, of which each forward reads few."""
        self._gradients: dict[str, list[RowGradients]] = {name: [] for name in self.widths}
        """Gradients of the mini-batches since the last push, by table."""
        self._forwards = {
            name: WorkerForwards(name, partial(self._rows_of, name), sums=specs[name].gradient == "sum") for name in self.widths
        }
        self.wants_clicks = any(specs[name].has_scores for name in self.widths)
        """A table uses scores."""
        self.look_up: LookUpRows = _nowhere
        self.await_asked: Callable[[], None] = _at_once
        """Waits until the rows that the last push asked for are held, if it asked for any."""
        self.looked_up_late = 0
        """Keys that were looked up while the model waited; whoever reports them counts from 0 again."""
        self._has_asked_rows = False
        """Some of the rows that are held came with the response to a push."""
        for module in modules:
            module.bind(self._forwards[module.table])

    def name(self, ids: Mapping[str, torch.Tensor]) -> Named:
        """Return what `ids` names for a mini-batch, for the tables of each member. Raises: UserError: it names other tables than
        those of the model, or no ids."""
        with blaming("ids()"):
            check_ids(ids, self.widths)
            named = {name: _named(checked_ids(name, of_table)) for name, of_table in ids.items()}
        names = {table: split_member(table)[1] for table in self.widths}
        return {table: named[name] for table, name in names.items() if name in named}

    def fetch(self, ids: Mapping[str, torch.Tensor]) -> None:
        """Look up the rows of these ids of several tables at once, before a forward needs them. Raises: as `name`."""
        self.use(self.name(ids))

    def use(self, named: Named) -> None:
        """As `fetch`, for what `name` has returned."""
        for name, of_table in named.items():
            self._forwards[name].named = of_table
        self._add({name: of_table.distinct.keys for name, of_table in named.items()})

    def use_caches(self) -> None:
        """Keep rows from push to push, as tables say. For a worker, whose rows come from servers."""
        if any(spec.cache for spec in self._specs.values()):
            self.caches = RowCaches(self._specs, self.widths)

    def request(self, batches: Iterable[Named]) -> Mapping[str, RowKeys]:
        """Return the distinct keys of several mini-batches, in bucket order, for a push that asks for their rows."""
        keys: dict[str, list[NDArray[np.int64]]] = {}
        for named in batches:
            for name, of_table in named.items():
                keys.setdefault(name, []).append(of_table.distinct.keys)
        return self._request({name: _distinct(parts) for name, parts in keys.items()})

    def hold_asked(self, found: Mapping[str, FoundRows]) -> None:
        """Hold rows that came with the response to a push, for the mini-batches until the next push."""
        self._hold_more(found)
        self._has_asked_rows = True

    def forget_asked(self) -> None:
        """Forget rows that came with the response to a push, and those of caches: they are looked up anew."""
        if self._has_asked_rows:
            self._forget()
        if self.caches:
            self.caches.clear()

    def hold(self, found: Mapping[str, FoundRows]) -> None:
        """Use these rows instead of those that were looked up."""
        self._rows = {name: piece(decoded_values(rows), np.argsort(rows.keys)) for name, rows in found.items()}
        self._sorted = set(found)

    def held_keys(self) -> dict[str, RowKeys]:
        """The keys of the rows that were looked up, in bucket order."""
        return {name: RowKeys(rows.keys[bucket_order(rows.keys)]) for name, rows in self._rows.items()}

    def use_clicks(self, labels: torch.Tensor) -> None:
        """`labels`: clicks of the examples of the forwards to come, shape (examples,)."""
        column = as_array(labels.detach().reshape(-1).float())
        for forwards in self._forwards.values():
            forwards.labels = column

    def end_batch(self, examples: int) -> None:
        """Sum the gradients of a mini-batch by key. `examples`: of the mini-batch. Raises: UserError: the clicks are wrong."""
        for name, forwards in self._forwards.items():
            with blaming("clicks()"):
                rows = forwards.merged(None, examples)
            if rows:
                self._gradients[name].append(rows)
            forwards.forget_gradients()

    def take_gradients(self) -> dict[str, RowGradients]:
        """Return the gradients since the last call, in bucket order and encoded, and forget them and the rows."""
        self.await_asked()  # they would be taken for rows of the next push
        taken = {}
        for name, parts in self._gradients.items():
            if parts:
                taken[name] = encoded_gradients(_by_bucket(merged(parts)), self._specs[name].codec)
                parts.clear()
        self._forget()
        return taken

    def _forget(self) -> None:
        self._rows.clear()
        self._sorted.clear()
        self._has_asked_rows = False

    def state(self) -> dict[str, dict[str, dict[str, torch.Tensor]]]:
        """Return the rows since the last push and the sums of their gradients, by table, for a worker that resumes between two.
        Rows that a push has asked for are left out, as `forget_asked` follows."""
        gradients = {name: merged(parts) for name, parts in self._gradients.items() if parts}
        kinds: dict[str, Mapping[str, FoundRows | RowGradients]] = {
            "found": {} if self._has_asked_rows else self._rows,
            "gradients": gradients,
        }
        return {kind: {name: saved_rows(rows) for name, rows in of_tables.items()} for kind, of_tables in kinds.items()}

    def load(self, state: Mapping[str, Mapping[str, Mapping[str, torch.Tensor]]]) -> None:
        self._rows = {name: loaded_rows(FoundRows, columns) for name, columns in state["found"].items()}
        self._gradients |= {name: [loaded_rows(RowGradients, columns)] for name, columns in state["gradients"].items()}

    def _rows_of(self, name: str, keys: NDArray[np.int64]) -> FoundRows:
        """The rows of distinct keys, in their order. `keys`: in bucket order."""
        if name not in self._rows or not np.array_equal(self._rows[name].keys, keys):
            self._add({name: keys})
        held = self._rows[name]
        if np.array_equal(held.keys, keys):
            return held
        if name in self._sorted:
            return piece(held, np.searchsorted(held.keys, keys))
        numbers = kernels.distinct(np.concatenate([held.keys, keys]), np.uint64(0))[1][len(held.keys) :]
        return piece(held, numbers)

    def _add(self, wanted: Mapping[str, NDArray[np.int64]]) -> None:
        """Look up those keys that are not held. `wanted`: distinct keys of tables, in bucket order."""
        self.await_asked()
        missing = {name: self._missing(name, keys) for name, keys in wanted.items()}
        missing = {name: keys for name, keys in missing.items() if len(keys) or name not in self._rows}
        if missing:
            self.looked_up_late += sum(map(len, missing.values()))
            self._hold_more(self.look_up(self._request(missing)))

    def _request(self, keys: Mapping[str, NDArray[np.int64]]) -> Mapping[str, RowKeys]:
        return self.caches.request(keys) if self.caches else {name: RowKeys(of_table) for name, of_table in keys.items()}

    def _hold_more(self, found: Mapping[str, FoundRows]) -> None:
        came = {name: decoded_values(rows) for name, rows in found.items()}
        for name, rows in (self.caches.complete(came) if self.caches else came).items():
            self._sorted.discard(name)
            self._rows[name] = joined([self._rows[name], rows]) if name in self._rows else rows

    def _missing(self, name: str, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        if name not in self._rows:
            return keys
        held = self._rows[name].keys
        if np.array_equal(held, keys):
            return keys[:0]
        if name in self._sorted:
            places = np.searchsorted(held, keys)
            return keys[(places == len(held)) | (held.take(places, mode="clip") != keys)] if len(held) else keys
        every: NDArray[np.int64] = kernels.distinct(np.concatenate([held, keys]), np.uint64(0))[0]
        return every[len(held) :]


class WorkerForwards(TableForwards):
    """The forwards of one table at a worker. Distinct ids lie in bucket order, as they travel; those named ahead are not searched
    for twice."""

    def __init__(self, table: str, look_up: LookUp, *, sums: bool) -> None:
        super().__init__(table, look_up, sums=sums)
        self.named: NamedIds | None = None
        """Those of the mini-batch."""

    def distinct_ids(self, ids: torch.Tensor, padding: int | None) -> DistinctIds:
        named = self.named
        if named and padding is None and np.array_equal(ids.cpu().numpy().ravel(), named.ids):
            return named.distinct
        return _in_bucket_order(distinct_ids(ids, padding))


def _named(ids: torch.Tensor) -> NamedIds:
    """`ids`: int64."""
    return NamedIds(np.array(ids.cpu().numpy().ravel()), _in_bucket_order(distinct_ids(ids, None)))


def _in_bucket_order(found: DistinctIds) -> DistinctIds:
    order = bucket_order(found.keys)
    numbers = np.empty(len(order) + 1, np.int64)
    numbers[order], numbers[-1] = np.arange(len(order)), -1  # the last is that of the padding
    return DistinctIds(found.keys[order], numbers[found.numbers])


def _distinct(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The distinct keys of all parts, in bucket order. `parts`: each of distinct keys, in bucket order."""
    if len(parts) == 1:
        return parts[0]
    every: NDArray[np.int64] = kernels.distinct(np.concatenate(parts), np.uint64(0))[0]
    return every[bucket_order(every)]


def _by_bucket(rows: RowGradients) -> RowGradients:
    buckets = buckets_of(rows.keys)
    return rows if (buckets[1:] >= buckets[:-1]).all() else piece(rows, bucket_order(rows.keys))


def _at_once() -> None:
    """Waits for nothing."""


def _nowhere(keys: Mapping[str, RowKeys]) -> Any:
    raise InvalidWorkload(f"the tables {', '.join(keys)} are not hosted by any server here")
