"""One mini-batch from a map-style data set, given the numbers of its examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset, TensorDataset, default_collate

from gradstream.data.source import Source
from gradstream.errors import InvalidWorkload
from gradstream.input import randomness


class Batching(NamedTuple):
    """How a workload wants its mini-batches."""

    collate: Callable[[list[Any]], Any] | None = None
    """A batch of single examples; None: as torch collates them."""
    drop_last: bool = False
    """Leave out the last mini-batch of a pass if it is not full."""

    def join(self, examples: list[Any]) -> Any:
        """Raises: InvalidWorkload, if they cannot be put together; whatever the workload raises."""
        if self.collate is not None:
            return self.collate(examples)
        try:
            return default_collate(examples)
        except (RuntimeError, TypeError) as error:
            raise InvalidWorkload(
                f"the examples of a mini-batch cannot be put together ({error}); override collate_fn(self, examples)"
            ) from error

    def never_for(self, dataset: Dataset[Any]) -> None:
        """Raises: InvalidWorkload, if the data set makes its batches by itself, so that collate_fn would not be called."""
        if self.collate is not None:
            raise InvalidWorkload(
                f"a {type(dataset).__name__} of gradstream.data gives whole batches, so collate_fn is not called; change them by "
                "its map(), and remove collate_fn"
            )


PLAIN = Batching()


class Gather:
    """`take(chosen, seed)` is a function of its arguments, whoever else draws random numbers before, between or at the same time:
    only so may batches be fetched ahead (docs/adr/0027-how-fetching-ahead-stays-deterministic.md)."""

    def __init__(self, dataset: Dataset[Any], batching: Batching = PLAIN) -> None:
        """Raises: InvalidWorkload."""
        self._join, self._collates = batching.join, batching.collate is not None
        self._rows: Tensor | None = None
        self._in_subset = type(dataset) is Subset
        while type(dataset) is Subset:
            rows = torch.as_tensor(dataset.indices, dtype=torch.int64)
            self._rows = rows if self._rows is None else rows[self._rows]
            dataset = dataset.dataset
        self._dataset = dataset
        if isinstance(dataset, Source):
            batching.never_for(dataset)
        self.thread_safe = (type(dataset) is TensorDataset and not self._collates) or isinstance(dataset, Source)
        """Draws from no generator of the process, so it may be called in a thread beside the model."""

    def take(self, chosen: Tensor, seed: Callable[[], int]) -> Any:
        """The examples as one batch, on the CPU. `seed`: of the random numbers that it may draw."""
        if self._rows is not None:
            chosen = self._rows[chosen]
        if type(self._dataset) is TensorDataset and not self._collates:
            tensors = [_select(tensor, chosen) for tensor in self._dataset.tensors]
            return tensors if self._in_subset else tuple(tensors)  # as torch collates them
        if isinstance(self._dataset, Source):
            generator = torch.Generator().manual_seed(seed()) if self._dataset.random else None
            return self._dataset.batch(chosen, generator)
        with randomness.seeded(seed(), gpus=False):
            return self._join(_examples(self._dataset, chosen.tolist()))


def _select(tensor: Tensor, chosen: Tensor) -> Tensor:
    """tensor[chosen], at a quarter of its cost; that takes its derivative into account, too, which an index does not have to."""
    return tensor[chosen] if tensor.requires_grad or tensor.is_sparse else tensor.index_select(0, chosen.to(tensor.device))


def _examples(dataset: Dataset[Any], numbers: list[int]) -> list[Any]:
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(numbers)  # type: ignore[no-any-return]
    return [dataset[number] for number in numbers]
