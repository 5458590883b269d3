"""Rows for the forwards of one table's modules, and the gradients that backward leaves for the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from gradstream.center.tables.payload import FoundRows, RowGradients, joined
from gradstream.center.tables.table import EmbeddingTable, RowOutcome
from gradstream.errors import InvalidWorkload
from gradstream.nn import kernels
from gradstream.nn.ids import DistinctIds, as_array, distinct_ids

LookUp = Callable[[NDArray[np.int64]], FoundRows]
"""Gives the rows of distinct keys, in their order."""


@dataclass(slots=True)
class _Forward:
    found: FoundRows
    numbers: NDArray[np.int64]
    examples: NDArray[np.int64]
    count: int
    labels: NDArray[np.float32] | None
    """Clicks of each example; None: they come with the step, or there are none."""
    gradient: torch.Tensor | None = None

    def clicks(self, table: str, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """The clicks of each key: a sum over its occurrences."""
        if len(labels) != self.count:
            raise InvalidWorkload(
                f"table '{table}': {len(labels)} clicks for a forward of {self.count} examples; give one for each"
            )
        if not (labels >= 0).all() or not np.isfinite(labels).all():
            raise InvalidWorkload(
                f"table '{table}': clicks lie between {labels.min()} and {labels.max()}; make them finite, and 0 or more"
            )
        found: NDArray[np.float32] = kernels.add_weights(self.numbers, labels[self.examples], len(self.found.keys))
        return found


class TableForwards:
    """A `RowSource` over any way to look rows up."""

    def __init__(self, table: str, look_up: LookUp, *, sums: bool) -> None:
        """`sums`: gradients are multiplied by the examples of the mini-batch."""
        self._table, self._look_up, self._sums = table, look_up, sums
        self._forwards: dict[int, _Forward] = {}
        """Those that backward has reached since the last step. Others live as long as the user's graph."""
        self.labels: NDArray[np.float32] | None = None
        """Clicks of the examples of the forwards to come."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # a copy of a model, such as an average of its weights, reads the same rows

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # a pickled model leaves its tables out: `TableOptimizer.state_dict` has them

    def distinct_ids(self, ids: torch.Tensor, padding: int | None) -> DistinctIds:
        return distinct_ids(ids, padding)

    def rows_for(self, ids: DistinctIds, examples: NDArray[np.int64], count: int, device: torch.device) -> torch.Tensor:
        found = self._look_up(ids.keys)
        rows = torch.from_numpy(found.values).to(device)
        if torch.is_grad_enabled():
            forward = _Forward(found, ids.numbers, examples, count, self.labels)
            rows.requires_grad_().register_post_accumulate_grad_hook(lambda leaf: self._note(forward, leaf))  # type: ignore[no-untyped-call]
        return rows

    def forget_gradients(self) -> None:
        for forward in self._forwards.values():
            forward.gradient = None
        self._forwards.clear()

    def merged(self, clicks: NDArray[np.float32] | None, examples: int | None) -> RowGradients | None:
        """The gradients of all forwards by key, None if there are none; they stay. `examples`: of the mini-batch; None: of each
        forward its own."""
        parts = self.by_forward(clicks, examples)
        return merged(parts) if parts else None

    def by_forward(self, clicks: NDArray[np.float32] | None, examples: int | None) -> list[RowGradients]:
        """As `merged`, of each forward apart, in the order in which backward reached them."""
        return [self._one(forward, clicks, examples) for forward in self._forwards.values()]

    def _note(self, forward: _Forward, leaf: torch.Tensor) -> None:
        """The leaf keeps nothing: another backward after a step would add to it."""
        assert leaf.grad is not None, "backward has just added to it"
        forward.gradient = leaf.grad if forward.gradient is None else forward.gradient + leaf.grad
        leaf.grad = None
        self._forwards[id(forward)] = forward

    def _one(self, forward: _Forward, clicks: NDArray[np.float32] | None, examples: int | None) -> RowGradients:
        assert forward.gradient is not None, "backward has noted it"
        keys, gradients = forward.found.keys, as_array(forward.gradient)
        if self._sums:
            gradients = gradients * np.float32(examples or forward.count)
        labels = forward.labels if clicks is None else clicks
        of_keys = np.zeros(len(keys), np.float32) if labels is None else forward.clicks(self._table, labels)
        return RowGradients(keys, forward.found.loans, gradients, kernels.count_numbers(forward.numbers, len(keys)), of_keys)


class LocalTable(TableForwards):
    """A table in this process."""

    def __init__(self, table: EmbeddingTable) -> None:
        super().__init__(table.name, table.look_up, sums=table.spec.gradient == "sum")
        self.table = table

    def push(self, rows: RowGradients, factor: float) -> RowOutcome:
        return self.table.push(rows.keys, rows.loans, rows.gradients, rows.occurrences, rows.clicks, factor)


def merged(parts: Sequence[RowGradients]) -> RowGradients:
    """Sums by key, with the loans of each key's first part."""
    if len(parts) == 1:
        return parts[0]
    every = joined(parts)
    keys, numbers = kernels.distinct(every.keys, np.uint64(0))
    first = np.empty(len(keys), np.int64)
    first[numbers[::-1]] = np.arange(len(every.keys))[::-1]
    occurrences = np.zeros(len(keys), np.int64)
    np.add.at(occurrences, numbers, every.occurrences)
    gradients = kernels.scatter_add(every.gradients, numbers, len(keys))
    return RowGradients(keys, every.loans[first], gradients, occurrences, kernels.add_weights(numbers, every.clicks, len(keys)))
