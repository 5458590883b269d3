"""The rows that a worker trains with: looked up once between two pushes, at first need, and given back as gradients with the next.

forward --> ids that were not looked up since the last push --> one lookup --> leaf tensors of rows
backward --> gradients by forward --> one gradient per key at the end of a mini-batch --> with the push
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from gradstream.nn.ids import DistinctIds, as_array, checked_ids
from gradstream.spec import JobSpec
from gradstream.spec.tables import specs_of

LookUpRows = Callable[[Mapping[str, RowKeys]], Mapping[str, FoundRows]]


class WorkingRows:
    """The rows of all tables of one model."""

    def __init__(self, model: nn.Module, spec: JobSpec) -> None:
        """Raises: InvalidWorkload: the job names a table that the model lacks, or a table has two widths."""
        modules = [module for module in model.modules() if isinstance(module, TableModule)]
        self.widths = widths_of(modules)
        specs = specs_of(spec.tables, self.widths)
        self._codecs = {name: specs[name].codec for name in self.widths}
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
        for module in modules:
            module.bind(self._forwards[module.table])

    def fetch(self, ids: Mapping[str, torch.Tensor]) -> None:
        """Look up the rows of these ids of several tables at once, before a forward needs them. Raises: UserError."""
        with blaming("ids()"):
            check_ids(ids, self.widths)
            keys = {name: self._forwards[name].name_ahead(checked_ids(name, of_table)) for name, of_table in ids.items()}
        self._add(keys)

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
        taken = {}
        for name, parts in self._gradients.items():
            if parts:
                taken[name] = encoded_gradients(_by_bucket(merged(parts)), self._codecs[name])
                parts.clear()
        self._rows.clear()
        self._sorted.clear()
        return taken

    def state(self) -> dict[str, dict[str, dict[str, torch.Tensor]]]:
        """Return the rows since the last push and the sums of their gradients, by table, for a worker that resumes between two."""
        gradients = {name: merged(parts) for name, parts in self._gradients.items() if parts}
        kinds: dict[str, Mapping[str, FoundRows | RowGradients]] = {"found": self._rows, "gradients": gradients}
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
        missing = {name: self._missing(name, keys) for name, keys in wanted.items()}
        missing = {name: keys for name, keys in missing.items() if len(keys) or name not in self._rows}
        if missing:
            found = self.look_up({name: RowKeys(keys) for name, keys in missing.items()})
            for name, rows in ((name, decoded_values(rows)) for name, rows in found.items()):
                self._sorted.discard(name)
                self._rows[name] = joined([self._rows[name], rows]) if name in self._rows else rows

    def _missing(self, name: str, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        if name not in self._rows:
            return keys
        held = self._rows[name].keys
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
        self._named: tuple[NDArray[np.int64], DistinctIds] | None = None
        """A copy of the ids named last, and the distinct ones among them."""

    def name_ahead(self, ids: torch.Tensor) -> NDArray[np.int64]:
        """Return the distinct ones of the ids of a forward to come. `ids`: int64."""
        found = self.distinct_ids(ids, None)
        self._named = np.array(ids.cpu().numpy().ravel()), found
        return found.keys

    def distinct_ids(self, ids: torch.Tensor, padding: int | None) -> DistinctIds:
        if self._named and padding is None and np.array_equal(ids.cpu().numpy().ravel(), self._named[0]):
            return self._named[1]
        found = super().distinct_ids(ids, padding)
        order = bucket_order(found.keys)
        numbers = np.empty(len(order) + 1, np.int64)
        numbers[order], numbers[-1] = np.arange(len(order)), -1  # the last is that of the padding
        return DistinctIds(found.keys[order], numbers[found.numbers])


def _by_bucket(rows: RowGradients) -> RowGradients:
    buckets = buckets_of(rows.keys)
    return rows if (buckets[1:] >= buckets[:-1]).all() else piece(rows, bucket_order(rows.keys))


def _nowhere(keys: Mapping[str, RowKeys]) -> Any:
    raise InvalidWorkload(f"the tables {', '.join(keys)} are not hosted by any server here")
