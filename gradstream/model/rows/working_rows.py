"""The rows that a worker trains with: read once between two pushes, and given back as gradients with the next.

push --> the keys of the next mini-batches, as `ids` names them --> their rows come with the response
forward --> other ids, not read since the last push --> one lookup --> leaf tensors of rows
backward --> gradients by forward --> one gradient per key at the end of a mini-batch --> with the push
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gradstream.center.tables.hashing import bucket_order, buckets_of
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys, encoded_gradients, piece
from gradstream.center.tables.storage.worker_rows import loaded_rows, saved_rows
from gradstream.model.rows.held_rows import HeldRows
from gradstream.model.tables import check_ids
from gradstream.model.usercode import blaming
from gradstream.nn import kernels
from gradstream.nn.embedding import TableModule, widths_of
from gradstream.nn.gradients import LookUp, TableForwards, merged
from gradstream.nn.ids import DistinctIds, as_array, checked_ids, distinct_ids
from gradstream.spec import JobSpec
from gradstream.spec.tables import specs_of, split_member


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
    """The rows of all tables of one model, and what backward leaves for them."""

    def __init__(self, model: nn.Module, spec: JobSpec, held: HeldRows | None = None) -> None:
        """`held`: see `beside`.

        Raises: InvalidWorkload: the job names a table that the model lacks, or a table has two widths."""
        modules = [module for module in model.modules() if isinstance(module, TableModule)]
        self._spec = spec
        self.widths = widths_of(modules)
        self._specs = specs = specs_of(spec.tables, self.widths)
        self.held = held or HeldRows(specs, self.widths)
        self._gradients: dict[str, list[RowGradients]] = {name: [] for name in self.widths}
        """Gradients of the mini-batches since the last push, by table."""
        self._forwards = {
            name: WorkerForwards(name, partial(self.held.rows_of, name), sums=specs[name].gradient == "sum") for name in self.widths
        }
        self.wants_clicks = any(specs[name].has_scores for name in self.widths)
        """A table uses scores."""
        for module in modules:
            module.bind(self._forwards[module.table])

    def beside(self, model: nn.Module) -> WorkingRows:
        """Return the rows of a model that was built alike, which reads those that this one holds."""
        return WorkingRows(model, self._spec, self.held)

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
        self.held.add({name: of_table.distinct.keys for name, of_table in named.items()})

    def request(self, batches: Iterable[Named]) -> Mapping[str, RowKeys]:
        """Return the distinct keys of several mini-batches, in bucket order, for a push that asks for their rows."""
        keys: dict[str, list[NDArray[np.int64]]] = {}
        for named in batches:
            for name, of_table in named.items():
                keys.setdefault(name, []).append(of_table.distinct.keys)
        return self.held.request({name: _distinct(parts) for name, parts in keys.items()})

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

    def take_gradients(self, others: Iterable[WorkingRows] = ()) -> dict[str, RowGradients]:
        """Return the gradients since the last call, in bucket order and encoded, and forget them and the rows. `others`: models
        whose gradients are added, and forgotten."""
        self.held.await_asked()  # they would be taken for rows of the next push
        models, taken = [self, *others], {}
        for name in self.widths:
            if parts := [part for model in models for part in model._gradients[name]]:
                taken[name] = encoded_gradients(_by_bucket(merged(parts)), self._specs[name].codec)
        for model in models:
            for of_table in model._gradients.values():
                of_table.clear()
        self.held.forget()
        return taken

    def state(self) -> dict[str, dict[str, dict[str, torch.Tensor]]]:
        """Return the rows since the last push and the sums of their gradients, by table, for a worker that resumes between two."""
        gradients = {name: merged(parts) for name, parts in self._gradients.items() if parts}
        kinds: dict[str, Mapping[str, FoundRows | RowGradients]] = {"found": self.held.saved(), "gradients": gradients}
        return {kind: {name: saved_rows(rows) for name, rows in of_tables.items()} for kind, of_tables in kinds.items()}

    def load(self, state: Mapping[str, Mapping[str, Mapping[str, torch.Tensor]]]) -> None:
        self.held.load(state["found"])
        self._gradients |= {name: [loaded_rows(RowGradients, columns)] for name, columns in state["gradients"].items()}


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
