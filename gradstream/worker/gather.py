"""One mini-batch from a map-style data set, given the numbers of its examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset, TensorDataset, default_collate

from gradstream.data.source import Source
from gradstream.worker import randomness


class Gather:
    """`take(chosen, seed)` is a function of its arguments, whoever else draws random numbers before, between or at the same time:
    only so may batches be fetched ahead (docs/adr/0027-how-fetching-ahead-stays-deterministic.md)."""

    def __init__(self, dataset: Dataset[Any]) -> None:
        self._rows: Tensor | None = None
        self._in_subset = type(dataset) is Subset
        while type(dataset) is Subset:
            rows = torch.as_tensor(dataset.indices, dtype=torch.int64)
            self._rows = rows if self._rows is None else rows[self._rows]
            dataset = dataset.dataset
        self._dataset = dataset
        self.thread_safe = type(dataset) is TensorDataset or isinstance(dataset, Source)
        """Draws from no generator of the process, so it may be called in a thread beside the model."""

    def take(self, chosen: Tensor, seed: Callable[[], int]) -> Any:
        """The examples as one batch, on the CPU. `seed`: of the random numbers that it may draw."""
        if self._rows is not None:
            chosen = self._rows[chosen]
        if type(self._dataset) is TensorDataset:
            tensors = [_select(tensor, chosen) for tensor in self._dataset.tensors]
            return tensors if self._in_subset else tuple(tensors)  # as torch collates them
        if isinstance(self._dataset, Source):
            generator = torch.Generator().manual_seed(seed()) if self._dataset.random else None
            return self._dataset.batch(chosen, generator)
        with randomness.seeded(seed(), gpus=False):
            return default_collate(_examples(self._dataset, chosen.tolist()))


def _select(tensor: Tensor, chosen: Tensor) -> Tensor:
    """tensor[chosen], at a quarter of its cost; that takes its derivative into account, too, which an index does not have to."""
    return tensor[chosen] if tensor.requires_grad or tensor.is_sparse else tensor.index_select(0, chosen.to(tensor.device))


def _examples(dataset: Dataset[Any], numbers: list[int]) -> list[Any]:
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(numbers)  # type: ignore[no-any-return]
    return [dataset[number] for number in numbers]
