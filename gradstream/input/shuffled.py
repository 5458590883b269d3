"""Map-style data: epoch e is a permutation of the whole data set, drawn from (seed, e); rank r of n takes every n-th example of
it. So the shares of an epoch are disjoint and differ in length by at most one. If the servers deal mini-batches on demand, all
workers take them from one share: the mini-batches of an epoch are the same for any number of workers.

A permutation has 4 bytes for each example, and shares are views of it: 10 million examples take 40 MB and 0.2 s of an epoch.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from gradstream.input.gather import Gather
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec


class Shuffled:
    """Implements `Feed`."""

    def __init__(self, gather: Gather, size: int, spec: JobSpec, rank: int, drop_last: bool = False) -> None:
        rank, workers = (0, 1) if spec.data.deal == "demand" else (rank, spec.roles.worker.count)
        self._gather, self._size, self._rank, self._workers = gather, size, rank, workers
        self._batch, self._seed = spec.batch_size, spec.seed
        self._per_epoch = max(1, batches_of(self.share(rank), self._batch, drop_last))
        self._epoch: _Epoch | None = None
        self.thread_safe = gather.thread_safe

    def share(self, rank: int) -> int:
        return len(range(rank, self._size, self._workers))

    def take(self, position: int) -> tuple[Any, int]:
        epoch, index = divmod(position, self._per_epoch)
        if self._epoch is None or self._epoch.number != epoch:
            self._epoch = None  # so that two of them are never in memory
            self._epoch = _epoch(self._size, self._seed, epoch)
        begin = self._rank + index * self._batch * self._workers
        chosen = self._epoch.order[begin : begin + self._batch * self._workers : self._workers].long()
        return self._gather.take(chosen, partial(seed_of, self._seed, f"batch {position}", self._rank)), len(chosen)


def batches_of(share: int, batch: int, drop_last: bool) -> int:
    """Mini-batches in one pass over a share."""
    return share // batch if drop_last else math.ceil(share / batch)


class _Epoch:
    def __init__(self, number: int, order: Tensor) -> None:
        self.number, self.order = number, order


_epochs: WeakValueDictionary[tuple[int, int, int], _Epoch] = WeakValueDictionary()
"""Those that some rank trains just now: the same for all of them, who are in one process in the simulator."""


def _epoch(size: int, seed: int, number: int) -> _Epoch:
    found = _epochs.get((size, seed, number))
    if found is None:
        dtype = torch.int32 if size < 2**31 else torch.int64  # the same numbers
        order = torch.randperm(size, dtype=dtype, generator=torch.Generator().manual_seed(seed * 1_000_003 + number))
        found = _epochs[size, seed, number] = _Epoch(number, order)
    return found
