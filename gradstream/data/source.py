"""Data sets that give whole mini-batches: `Source` in any order, `Stream` in its own.

Both use none of the process's random number generators, so a thread may fetch from them while the model computes
(docs/adr/0027-how-fetching-ahead-stays-deterministic.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from gradstream.data.ragged import Ragged, examples_of
from gradstream.errors import InvalidWorkload

Change = Callable[[Any], Any]
"""Turns a whole batch into the batch that the model gets."""
Augment = Callable[[Any, torch.Generator], Any]
"""The same, with random numbers from the generator only."""


class Source(Dataset[Any]):
    """A map-style data set whose `batch` gathers many examples at once. `source[3]` is one example, `source[[3, 1]]` a batch."""

    random = False
    """True if `batch` takes a random number generator."""

    def __len__(self) -> int:
        raise NotImplementedError

    def batch(self, chosen: Tensor, generator: torch.Generator | None = None) -> Any:
        """The examples of these numbers, shape (b,), int64: a tensor, or a tuple, list or dict of tensors of first dimension b.

        May be called in a thread: draws from `generator` only."""
        raise NotImplementedError

    def __getitem__(self, at: int | slice | Sequence[int] | Tensor) -> Any:
        generator = torch.Generator().manual_seed(int(torch.randint(2**62, ()))) if self.random else None
        if isinstance(at, int):
            if not -len(self) <= at < len(self):
                raise IndexError(f"{at} is not one of the {len(self)} examples")
            return examples_of(self.batch(torch.tensor([at % len(self)]), generator), 0)
        return self.batch(_numbers(at, len(self)), generator)

    def map(self, change: Change) -> Source:
        """Each batch changed by a function that draws nothing: `source.map(data.scaled(1 / 255))`."""
        return _Changed(self, lambda batch, generator: change(batch), self.random)

    def augment(self, change: Augment) -> Source:
        """Each batch changed at random: `change(batch, generator)`, with the same numbers whenever and wherever it is fetched."""
        return _Changed(self, change, True)

    def rows(self, chosen: slice | Sequence[int] | Tensor) -> Source:
        """A part of it: `source.rows(slice(300, None))`."""
        return _Rows(self, _numbers(chosen, len(self)))


class Columns(Source):
    """Arrays of equal length; a batch is a tuple with a tensor from each, or just the tensor of an only one."""

    def __init__(self, columns: Sequence[numpy.ndarray[Any, Any]], names: Sequence[str], alone: bool = False) -> None:
        """`names`: for errors. `alone`: a batch is no tuple. Raises: InvalidWorkload, for unequal lengths."""
        self._columns = [numpy.asarray(column) for column in columns]  # a view: a memmap of its own class is slow to index
        self._alone = alone
        lengths = {len(column) if column.ndim else None for column in self._columns}
        if len(lengths) != 1 or None in lengths:
            shapes = ", ".join(f"{name}: {column.shape}" for name, column in zip(names, self._columns, strict=True))
            raise InvalidWorkload(f"all parts of a data set must have the same number of examples; the shapes are {shapes}")
        for name, column in zip(names, self._columns, strict=True):
            if column.dtype.kind not in "biufc":
                raise InvalidWorkload(f"{name} holds values of type {column.dtype}, which are not numbers; convert it")
        self._gathers = [_gather(column) for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    def batch(self, chosen: Tensor, generator: torch.Generator | None = None) -> Any:
        at = chosen.numpy()
        gathered = tuple(_tensor(gather(at)) for gather in self._gathers)
        return gathered[0] if self._alone else gathered


class _Changed(Source):
    def __init__(self, source: Source, change: Augment, random: bool) -> None:
        self._source, self._change, self.random = source, change, random

    def __len__(self) -> int:
        return len(self._source)

    def batch(self, chosen: Tensor, generator: torch.Generator | None = None) -> Any:
        inner = self._source.batch(chosen, generator)
        return self._change(inner, generator)  # type: ignore[arg-type]  # None only where nothing is random


class _Rows(Source):
    def __init__(self, source: Source, chosen: Tensor) -> None:
        self._source, self._chosen, self.random = source, chosen, source.random

    def __len__(self) -> int:
        return len(self._chosen)

    def batch(self, chosen: Tensor, generator: torch.Generator | None = None) -> Any:
        return self._source.batch(self._chosen[chosen], generator)


class Stream(IterableDataset[Any]):
    """An iterable data set that comes in pieces of many examples. Iterated over, it gives one example at a time."""

    def pieces(self, start: int) -> Iterator[Any]:
        """From example number `start` of the pass: tensors, or tuples, lists or dicts of tensors, of the same first dimension.

        May be called in a thread: draws no random numbers but from generators of its own that depend on `start` alone."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        for piece in self.pieces(0):
            for at in range(length_of(piece)):
                yield examples_of(piece, at)


class _Scaled:
    """A class, so that it can be sent to another process."""

    def __init__(self, by: float) -> None:
        self._by = by

    def __call__(self, batch: Any) -> Any:
        if isinstance(batch, Tensor):
            return batch.to(torch.float32) * self._by
        if isinstance(batch, dict):
            key = next(iter(batch))
            return {**batch, key: self(batch[key])}
        return type(batch)([self(batch[0]), *batch[1:]])


def scaled(by: float) -> Change:
    """For `Source.map`: the first tensor of a batch as float32, times `by`; the others as they are."""
    return _Scaled(by)


def each(batch: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same nest of tuples, lists and dicts with its tensors changed."""
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, dict):
        return {key: each(value, change) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(each(value, change) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(each(value, change) for value in batch)
    return batch


def length_of(batch: Any) -> int:
    """Return the examples in a nest of tensors: the first dimension of its first tensor."""
    while not isinstance(batch, Tensor):
        batch = batch.offsets if isinstance(batch, Ragged) else next(iter(batch.values() if isinstance(batch, dict) else batch))
    return len(batch)


def _numbers(chosen: slice | Sequence[int] | Tensor, length: int) -> Tensor:
    """Return the numbers of the chosen examples, none of them negative."""
    if isinstance(chosen, slice):
        return torch.arange(*chosen.indices(length))
    numbers = torch.as_tensor(chosen)
    if numbers.dtype == torch.bool:
        numbers = numbers.nonzero().squeeze(1)
    numbers = numbers.long()
    if numbers.numel() and not (-length <= int(numbers.min()) and int(numbers.max()) < length):
        raise IndexError(f"examples {int(numbers.min())} to {int(numbers.max())} are not all among {length}")
    return torch.where(numbers < 0, numbers + length, numbers)


def _gather(column: numpy.ndarray[Any, Any]) -> Callable[[numpy.ndarray[Any, Any]], numpy.ndarray[Any, Any]]:
    """Return a function that gathers rows by their numbers. It gathers bytes: numpy's take would first copy all of an array that
    is not aligned in memory, and those in .npz files seldom are."""
    if not column.flags.c_contiguous or not column.size:
        return lambda at: column[at]
    rows = column.reshape(len(column), -1).view(numpy.uint8)
    dtype, shape = column.dtype, column.shape[1:]
    return lambda at: rows.take(at, axis=0).view(dtype).reshape(len(at), *shape)


def _tensor(gathered: numpy.ndarray[Any, Any]) -> Tensor:
    """In the byte order of this machine."""
    if not gathered.dtype.isnative:
        gathered = gathered.astype(gathered.dtype.newbyteorder("="))
    return torch.from_numpy(gathered)
