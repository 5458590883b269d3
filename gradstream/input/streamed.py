"""Iterable data: each pass is read in the order in which it comes.

A block is `batch_size` examples for each of n ranks, of which rank r takes every n-th; or `batch_size` examples of this rank's own,
if the data set has a `shard(rank, count)`. Random numbers that the data set draws while a block is read depend on the pass and the
block alone. So all ranks see the same stream, and so does a worker that resumes, which calls `seek(example)` if the data set has
that, and else reads what comes before.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sized
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, Protocol

from torch.utils.data import IterableDataset

from gradstream.data.source import Stream
from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.input.gather import PLAIN, Batching
from gradstream.input.pieces import PieceReader
from gradstream.input.shuffled import batches_of
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec


class Streamed:
    """Implements `Feed`."""

    def __init__(self, dataset: IterableDataset[Any], spec: JobSpec, rank: int, batching: Batching = PLAIN) -> None:
        """Raises: InvalidWorkload."""
        if isinstance(dataset, Stream):
            batching.never_for(dataset)
        self._batching, self._rank = batching, rank
        workers, declared = spec.roles.worker.count, spec.data.pass_examples
        self._seed, self._batch = spec.seed, spec.batch_size
        own = hasattr(dataset, "shard")
        self._dataset = _shard(dataset, rank, workers)
        self.thread_safe = isinstance(self._dataset, Stream)
        length = declared or _length(dataset)
        if own and declared is None:
            self._shares = [_length(_shard(dataset, r, workers)) for r in range(workers)]
        else:
            self._shares = [None if length is None else len(range(r, length, workers)) for r in range(workers)]
        share = self._shares[rank]
        self._drawn_by, self._first, self._step = (rank, 0, 1) if own else (0, rank, workers)
        self._block = self._batch * self._step
        self._length = share if own else length
        """Examples in one pass that this rank reads; None: not known."""
        self._per_pass = None if share is None else max(1, batches_of(share, self._batch, batching.drop_last))
        self._next = -1
        """Position whose batch comes next from the reader."""
        self._pass = self._index = 0
        """Pass and number of the next block."""
        self._guessed = False
        """The reader was put to a place that the pass may not have."""
        self._reader: _Reader | None = None

    def share(self, rank: int) -> int | None:
        return self._shares[rank]

    def take(self, position: int) -> tuple[Any, int]:
        """Raises: InvalidWorkload, if a pass has less than was said, or nothing for this rank."""
        if position != self._next:
            self._go_to(position)
        kept, reader = self._kept()
        self._next += 1
        with self._collating(position):
            return reader.batch(kept), reader.count(kept)

    def _kept(self) -> tuple[Any, _Reader]:
        """This rank's part of the next block that has one, and the reader that it is from."""
        for _ in range(3):  # this pass may have ended, and the next one, too, if it gives this rank nothing
            if self._reader is None or self._index == self._per_pass:
                self._begin(self._pass + 1, 0)
            assert self._reader is not None, "a pass has begun"
            reader = self._reader
            kept, read = self._read(reader)
            if self._guessed and not read:
                self._from_the_start()
                continue
            self._guessed = False
            if read < self._block:  # a pass whose length is not known has ended
                self._reader = None
            if reader.count(kept) >= (self._batch if self._batching.drop_last else 1):
                return kept, reader
        raise InvalidWorkload(
            f"a whole pass over dataset('train') has nothing for one of {self._step} workers; give it more, or have fewer workers"
        )

    def _read(self, reader: _Reader) -> tuple[Any, int]:
        """Read the next block. Return this rank's part of it, and the number of examples read."""
        start = self._index * self._block
        want = self._block if self._length is None else min(self._block, self._length - start)
        with self._drawing():
            kept, read = reader.read(want, self._first, self._step)
        if self._length is not None and read < want:
            raise InvalidWorkload(
                f"dataset('train') ended after {start + read} of {self._length} examples; correct its __len__, or data.length"
            )
        self._index += 1
        return kept, self._block if self._length is not None else read

    def _drawing(self) -> AbstractContextManager[None]:
        if self.thread_safe:
            return nullcontext()
        return randomness.seeded(seed_of(self._seed, f"pass {self._pass} block {self._index}", self._drawn_by), gpus=False)

    def _collating(self, position: int) -> AbstractContextManager[None]:
        """Seed a collate_fn, which may draw random numbers, by the position alone."""
        if self._batching.collate is None:
            return nullcontext()
        return randomness.seeded(seed_of(self._seed, f"collate {position}", self._rank), gpus=False)

    def _go_to(self, position: int) -> None:
        """Move the reader, so that the batch of this position comes next."""
        number, index = divmod(position, self._per_pass) if self._per_pass else (0, position)
        self._next = position
        self._begin(number, index)

    def _begin(self, number: int, index: int) -> None:
        """Open a reader at block `index` of the pass `number`."""
        self._pass, self._index = number, 0
        if hasattr(self._dataset, "set_epoch"):
            self._dataset.set_epoch(number)
        jumps = isinstance(self._dataset, Stream) or hasattr(self._dataset, "seek")
        if jumps:
            self._index, self._guessed = index, index > 0 and self._per_pass is None
        self._reader = self._opened(index * self._block if jumps else 0)
        if index > self._index:
            self._read_to(index)

    def _opened(self, start: int) -> _Reader:
        if isinstance(self._dataset, Stream):
            return PieceReader(self._dataset.pieces(start))
        if hasattr(self._dataset, "seek"):
            self._dataset.seek(start)
        return _Examples(iter(self._dataset), self._batching)

    def _read_to(self, index: int) -> None:
        """Read up to the block `index`, block by block: this draws the same random numbers as training did."""
        if self._per_pass is None:
            self._from_the_start(opened=True)
            return
        while self._index < index:
            assert self._reader is not None, "a pass has begun"
            self._read(self._reader)

    def _from_the_start(self, opened: bool = False) -> None:
        """Read all batches before `_next`: only reading shows the length of the passes."""
        self._guessed, until, self._next = False, self._next, 0
        if not opened:
            self._pass, self._index, self._reader = 0, 0, self._opened(0)
        while self._next < until:
            self._kept()
            self._next += 1


class _Reader(Protocol):
    def read(self, count: int, first: int, step: int) -> tuple[Any, int]:
        """Read the next `count` examples and keep every `step`-th from number `first`. Return those kept and the number read,
        which is below `count` only at the end."""

    def batch(self, kept: Any) -> Any: ...
    def count(self, kept: Any) -> int: ...


class _Examples:
    """A reader of an iterator over single examples."""

    def __init__(self, iterator: Iterator[Any], batching: Batching) -> None:
        self._iterator, self._batching = iterator, batching

    def read(self, count: int, first: int, step: int) -> tuple[list[Any], int]:
        kept, read = [], 0
        for example in islice(self._iterator, count):
            if read % step == first:
                kept.append(example)
            read += 1
        return kept, read

    def batch(self, kept: list[Any]) -> Any:
        return self._batching.join(kept)

    def count(self, kept: list[Any]) -> int:
        return len(kept)


def _shard(dataset: IterableDataset[Any], rank: int, count: int) -> IterableDataset[Any]:
    """A data set of this rank's own: ranks may be in one process, each at its place."""
    mine = copy.copy(dataset)
    if not hasattr(mine, "shard"):
        return mine
    sharded: IterableDataset[Any] | None = mine.shard(rank, count)
    return mine if sharded is None else sharded


def _length(dataset: IterableDataset[Any]) -> int | None:
    return len(dataset) if isinstance(dataset, Sized) else None


def evaluation_batches(dataset: IterableDataset[Any], batch_size: int, batching: Batching = PLAIN) -> Iterator[tuple[Any, int]]:
    """All of it once, in its order; the same random numbers each time."""
    reader = PieceReader(dataset.pieces(0)) if isinstance(dataset, Stream) else _Examples(iter(dataset), batching)
    for block in range(2**62):
        with randomness.seeded(seed_of(0, "evaluation", block), gpus=False):
            kept, read = reader.read(batch_size, 0, 1)
            batch = reader.batch(kept) if read else None
        if read:
            yield batch, read
        if read < batch_size:
            return
