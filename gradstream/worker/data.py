"""A worker's share of the data: the same examples in the same order whenever they are asked for, by position.

Epoch e is a permutation of the whole data set, drawn from (seed, e); rank r of n takes every n-th example of it. So the
shares of an epoch are disjoint, differ in length by at most one, and a resumed worker only needs its position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.data import Dataset, TensorDataset, default_collate

from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec


class DatasetTooSmall(Exception):
    """There is not at least one example for every worker."""


class Batches:
    """`total` mini-batches; the last of an epoch may be smaller."""

    def __init__(self, dataset: Dataset[Any], spec: JobSpec, rank: int) -> None:
        """Raises: DatasetTooSmall, InvalidWorkload."""
        self._dataset, self._rank, self._workers = dataset, rank, spec.roles.worker.count
        self._size, self._batch, self._seed = length(dataset, "train"), spec.batch_size, spec.seed
        if self._size < self._workers:
            raise DatasetTooSmall(
                f"dataset('train') has {self._size} examples for {self._workers} workers; "
                "give it more, or lower roles.worker.count"
            )
        self._per_epoch = [math.ceil(self._share(r) / self._batch) for r in range(self._workers)]
        self._order: tuple[int, Tensor] | None = None
        self.per_epoch = self._per_epoch[rank]
        """Mini-batches in one pass over this rank's share."""
        self.total = self._total(spec, rank)
        self.total_samples = sum(self._samples(self._total(spec, r), r) for r in range(self._workers))

    def take(self, position: int, device: torch.device) -> tuple[Any, int]:
        """Mini-batch number `position` (from 0) of this rank, on `device`, and how many examples it has."""
        epoch, index = divmod(position, self._per_epoch[self._rank])
        chosen = self._mine(epoch)[index * self._batch : (index + 1) * self._batch]
        return to_device(fetch(self._dataset, chosen), device), len(chosen)

    def _mine(self, epoch: int) -> Tensor:
        """This rank's share, in the order of the epoch."""
        if self._order is None or self._order[0] != epoch:
            self._order = (epoch, _permutation(self._size, self._seed, epoch)[self._rank :: self._workers].clone())
        return self._order[1]

    def _share(self, rank: int) -> int:
        return len(range(rank, self._size, self._workers))

    def _total(self, spec: JobSpec, rank: int) -> int:
        by_epochs = math.ceil(spec.stop.epochs * self._per_epoch[rank]) if spec.stop.epochs else None
        return min(t for t in (by_epochs, spec.stop.steps) if t is not None)

    def _samples(self, total: int, rank: int) -> int:
        epochs, rest = divmod(total, self._per_epoch[rank])
        return epochs * self._share(rank) + min(rest * self._batch, self._share(rank))


@lru_cache(maxsize=2)
def _permutation(size: int, seed: int, epoch: int) -> Tensor:
    """The same for all workers, who are in one process in the simulator."""
    return torch.randperm(size, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))


def length(dataset: Dataset[Any], split: str) -> int:
    """Raises: InvalidWorkload, for a data set without a length."""
    if not isinstance(dataset, Sized):
        raise InvalidWorkload(f"dataset({split!r}) must be a map-style data set with __len__ and __getitem__")
    return len(dataset)


def fetch(dataset: Dataset[Any], chosen: Tensor) -> Any:
    """The examples as one batch. A TensorDataset is indexed at once, others example by example."""
    if type(dataset) is TensorDataset:
        return dataset[chosen]
    indices = chosen.tolist()
    if hasattr(dataset, "__getitems__"):
        return default_collate(dataset.__getitems__(indices))
    return default_collate([dataset[i] for i in indices])


def in_order(dataset: Dataset[Any], batch_size: int, device: torch.device) -> Iterator[tuple[Any, int]]:
    """The whole data set once, in its own order, as (batch, examples)."""
    size = len(cast(Sized, dataset))
    for start in range(0, size, batch_size):
        chosen = torch.arange(start, min(start + batch_size, size))
        yield to_device(fetch(dataset, chosen), device), len(chosen)


def to_device(batch: Any, device: torch.device) -> Any:
    """The same nest of tuples, lists and dicts with its tensors on `device`."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: to_device(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(to_device(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(to_device(value, device) for value in batch)
    return batch
