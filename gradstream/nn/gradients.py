"""A table in this process: rows for modules, and the gradients that backward left for the next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from gradstream.center.tables.table import EmbeddingTable, Lookup, RowOutcome
from gradstream.errors import InvalidWorkload
from gradstream.nn import kernels
from gradstream.nn.ids import DistinctIds, as_array


@dataclass(slots=True)
class _Forward:
    lookup: Lookup
    numbers: NDArray[np.int64]
    examples: NDArray[np.int64]
    count: int
    gradient: torch.Tensor | None = None

    def clicks(self, table: str, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """The clicks of each key: a sum over its occurrences."""
        if len(labels) != self.count:
            raise InvalidWorkload(
                f"table '{table}': {len(labels)} clicks for a forward of {self.count} examples; give one for each"
            )
        found: NDArray[np.float32] = kernels.add_weights(self.numbers, labels[self.examples], len(self.lookup.keys))
        return found


@dataclass(frozen=True, slots=True)
class RowGradients:
    """The arguments of a push to a table; see `EmbeddingTable.push`."""

    keys: NDArray[np.int64]
    loans: NDArray[Any]
    gradients: NDArray[np.float32]
    occurrences: NDArray[np.int64]
    clicks: NDArray[np.float32]


class LocalTable:
    def __init__(self, table: EmbeddingTable) -> None:
        self.table = table
        self._forwards: dict[int, _Forward] = {}
        """Those that backward has reached since the last step. Others live as long as the user's graph."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # a copy of a model, such as an average of its weights, reads the same rows

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # a pickled model leaves its tables out: `TableOptimizer.state_dict` has them

    def rows_for(self, ids: DistinctIds, examples: NDArray[np.int64], count: int, device: torch.device) -> torch.Tensor:
        lookup = self.table.look_up(ids.keys)
        rows = torch.from_numpy(lookup.values).to(device)
        if torch.is_grad_enabled():
            forward = _Forward(lookup, ids.numbers, examples, count)
            rows.requires_grad_().register_post_accumulate_grad_hook(lambda leaf: self._note(forward, leaf))  # type: ignore[no-untyped-call]
        return rows

    def forget_gradients(self) -> None:
        self._forwards.clear()

    def merged(self, clicks: NDArray[np.float32] | None, examples: int | None) -> RowGradients | None:
        """The gradients of all forwards by key, None if there are none; they stay. Raises: InvalidWorkload: one is not finite."""
        forwards = list(self._forwards.values())
        if not forwards:
            return None
        name, parts = self.table.name, [self._one(forward, clicks, examples) for forward in forwards]
        for part in parts:
            if not np.isfinite(part.gradients).all():
                raise InvalidWorkload(
                    f"table '{name}': a gradient is not finite, and no table was changed; call zero_grad() to go on"
                )
        if len(parts) == 1:
            return parts[0]
        every = np.concatenate([part.keys for part in parts])
        keys, numbers = kernels.distinct(every, np.uint64(0))
        first = np.empty(len(keys), np.int64)
        first[numbers[::-1]] = np.arange(len(every))[::-1]
        occurrences = np.zeros(len(keys), np.int64)
        np.add.at(occurrences, numbers, np.concatenate([part.occurrences for part in parts]))
        return RowGradients(
            keys,
            np.concatenate([part.loans for part in parts])[first],
            kernels.scatter_add(np.concatenate([part.gradients for part in parts]), numbers, len(keys)),
            occurrences,
            kernels.add_weights(numbers, np.concatenate([part.clicks for part in parts]), len(keys)),
        )

    def push(self, merged: RowGradients, factor: float) -> RowOutcome:
        return self.table.push(merged.keys, merged.loans, merged.gradients, merged.occurrences, merged.clicks, factor)

    def _note(self, forward: _Forward, leaf: torch.Tensor) -> None:
        forward.gradient = leaf.grad
        self._forwards[id(forward)] = forward

    def _one(self, forward: _Forward, clicks: NDArray[np.float32] | None, examples: int | None) -> RowGradients:
        assert forward.gradient is not None, "backward has noted it"
        keys, gradients = forward.lookup.keys, as_array(forward.gradient)
        if self.table.spec.gradient == "sum":
            gradients = gradients * np.float32(examples or forward.count)
        of_keys = np.zeros(len(keys), np.float32) if clicks is None else forward.clicks(self.table.name, clicks)
        return RowGradients(keys, forward.lookup.loans, gradients, kernels.count_numbers(forward.numbers, len(keys)), of_keys)
