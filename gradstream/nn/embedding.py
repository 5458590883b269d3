"""Modules whose rows lie in a table: `Embedding` and `EmbeddingBag`, with the semantics of torch's but without a vocabulary size.

They have no parameters. Each forward looks its distinct ids up and computes with a leaf tensor of their rows. The gradient of the
leaf goes to the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gradstream.errors import InvalidWorkload
from gradstream.nn.functions import gather_rows, largest_of_bags, sum_bags
from gradstream.nn.ids import DistinctIds, checked_ids
from gradstream.nn.kernels import count_numbers

Mode = Literal["sum", "mean", "max"]


class RowSource(Protocol):
    """A table as modules see it."""

    def distinct_ids(self, ids: torch.Tensor, padding: int | None) -> DistinctIds:
        """`ids`: int64."""

    def rows_for(self, ids: DistinctIds, examples: NDArray[np.int64], count: int, device: torch.device) -> torch.Tensor:
        """The rows of the distinct ids, a leaf tensor if gradients are enabled. `examples`: that of each id, among `count`."""


class TableModule(nn.Module):
    """A module that computes with rows of the table `table`."""

    def __init__(
        self, name: str, dim: int, padding_idx: int | None = None, max_norm: float | None = None, scale_grad_by_freq: bool = False
    ) -> None:
        super().__init__()
        where = f"{type(self).__name__} of table '{name}'"
        if not isinstance(name, str):
            raise InvalidWorkload(f"{where}: its first argument is a name; a table has no vocabulary size")
        if not name or dim < 1:
            raise InvalidWorkload(f"{where}: give it a name, and a dim of at least 1")
        if max_norm is not None:
            raise InvalidWorkload(f"{where}: max_norm would change rows at their lookup; normalise the output instead")
        if scale_grad_by_freq:
            raise InvalidWorkload(f"{where}: scale_grad_by_freq is not offered; use a rule with a rate per row, such as adagrad")
        self.table, self.dim, self.padding_idx = name, dim, padding_idx
        self._source: RowSource | None = None

    def bind(self, source: RowSource) -> None:
        """Take rows from this table from now on."""
        self._source = source

    @property
    def source(self) -> RowSource:
        """Raises: InvalidWorkload: no table is bound."""
        if self._source is None:
            raise InvalidWorkload(
                f"{type(self).__name__} has no table '{self.table}' to take rows from; make gradstream.nn.TableOptimizer(model) "
                "before the first forward. A job gives its workers their tables by itself"
            )
        return self._source

    def distinct_ids(self, ids: torch.Tensor) -> DistinctIds:
        """Raises: InvalidWorkload: the ids are not whole numbers."""
        return self.source.distinct_ids(checked_ids(self.table, ids), self.padding_idx)

    def extra_repr(self) -> str:
        return f"{self.table!r}, {self.dim}" + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")


class Embedding(TableModule):
    """The row of each id: ids of any shape to (*shape, dim). `padding_idx`: an id that reads 0 and has no row."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        found = self.distinct_ids(ids)
        count = len(ids) if ids.dim() else 1
        examples = np.repeat(np.arange(count), ids.numel() // max(1, count))
        rows = self.source.rows_for(found, examples, count, ids.device)
        return gather_rows(rows, found.numbers).view(*ids.shape, self.dim)


class EmbeddingBag(TableModule):
    """Sums, means or largest values of the rows of each bag of ids, to (bags, dim). An empty bag gives 0."""

    def __init__(
        self,
        name: str,
        dim: int,
        mode: Mode = "mean",
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        max_norm: float | None = None,
        scale_grad_by_freq: bool = False,
    ) -> None:
        """`padding_idx`: an id that is left out of its bag. `include_last_offset`: `offsets` end with the number of ids."""
        super().__init__(name, dim, padding_idx, max_norm, scale_grad_by_freq)
        if mode not in ("sum", "mean", "max"):
            raise InvalidWorkload(f"EmbeddingBag of table '{name}': mode is sum, mean or max, not {mode!r}")
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(
        self,
        ids: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
        offsets: torch.Tensor | None = None,
        per_sample_weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`ids`: a matrix, a bag in each row; or a vector with the `offsets` where bags begin, also as one `data.Ragged`; or a
        nested tensor of bags. `per_sample_weights`: of each id, for mode sum."""
        if isinstance(ids, tuple):
            ids, offsets = ids
        elif ids.is_nested:
            ids = ids.contiguous()  # one of torch.nested.narrow has values between its bags
            ids, offsets = ids.values(), ids.offsets()[:-1]  # type: ignore[attr-defined]
        elif offsets is not None and self.include_last_offset:
            offsets = self._without_last(ids, offsets)
        bags, count = self._bags(ids, offsets)
        found = self.distinct_ids(ids)
        rows = self.source.rows_for(found, bags, count, ids.device)
        if self.mode == "max":
            self._refuse_weights(per_sample_weights)
            return largest_of_bags(rows, found.numbers, bags, count)
        if self.mode == "mean":
            self._refuse_weights(per_sample_weights)
            lengths = count_numbers(np.where(found.numbers >= 0, bags, -1), count)
            sums = sum_bags(rows, rows.new_ones(ids.numel()), found.numbers, bags, count)
            return sums / torch.from_numpy(np.maximum(lengths, 1)).to(ids.device)[:, None]
        if per_sample_weights is None:
            weights = rows.new_ones(ids.numel())
        elif per_sample_weights.numel() == ids.numel():
            weights = per_sample_weights.reshape(-1).to(rows)
        else:
            raise InvalidWorkload(
                f"EmbeddingBag of table '{self.table}': {ids.numel()} ids and {per_sample_weights.numel()} per_sample_weights; "
                "give one for each id"
            )
        return sum_bags(rows, weights, found.numbers, bags, count)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"

    def _without_last(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """Raises: InvalidWorkload: the last of the offsets is another number than that of the ids."""
        if offsets.dim() == 1 and (last := offsets[-1:].tolist()) != [ids.numel()]:
            end = last[0] if last else "nothing"
            raise InvalidWorkload(
                f"EmbeddingBag of table '{self.table}': offsets end with {end}; with include_last_offset they end with the number "
                f"of ids, {ids.numel()}"
            )
        return offsets[:-1]

    def _bags(self, ids: torch.Tensor, offsets: torch.Tensor | None) -> tuple[NDArray[np.int64], int]:
        """The bag of each id, and the number of bags."""
        where = f"EmbeddingBag of table '{self.table}'"
        if ids.dim() == 2 and offsets is None:
            return np.repeat(np.arange(ids.shape[0]), ids.shape[1]), ids.shape[0]
        if ids.dim() != 1 or offsets is None or offsets.dim() != 1:
            raise InvalidWorkload(f"{where}: ids are a matrix, or a vector with a vector of offsets")
        starts = checked_ids(self.table, offsets).cpu().numpy()
        lengths = np.diff(starts, append=ids.numel())
        if len(starts) and (starts[0] != 0 or lengths.min() < 0):
            raise InvalidWorkload(f"{where}: offsets begin with 0, never fall, and do not exceed the number of ids, {ids.numel()}")
        if not len(starts) and ids.numel():
            raise InvalidWorkload(f"{where}: there are {ids.numel()} ids but no offsets")
        return np.repeat(np.arange(len(starts)), lengths), len(starts)

    def _refuse_weights(self, weights: torch.Tensor | None) -> None:
        if weights is not None:
            raise InvalidWorkload(f"EmbeddingBag of table '{self.table}': per_sample_weights are for mode sum, not {self.mode}")


def widths_of(modules: Iterable[TableModule]) -> dict[str, int]:
    """The width of each table, by name. Raises: InvalidWorkload: a table has two."""
    widths: dict[str, int] = {}
    for module in modules:
        if widths.setdefault(module.table, module.dim) != module.dim:
            raise InvalidWorkload(
                f"table '{module.table}' has two widths, {widths[module.table]} and {module.dim}; "
                "give the modules one dim, or two names"
            )
    return widths
