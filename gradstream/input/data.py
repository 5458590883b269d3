"""A worker's share of the data: the same examples in the same order whenever they are asked for, by position.

Mini-batch number p of rank r is a function of (data set, job, r, p), random numbers of the data set included. So a resumed
worker only needs its position, and batches may be fetched before they are needed (`gradstream.input.prefetch`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Sized
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import torch
from torch.utils.data import Dataset, IterableDataset

from gradstream.center.dealing.dealer import ENDLESS
from gradstream.center.positions import Place
from gradstream.data.followed import FollowedFolder
from gradstream.data.kafka_topic.topic import KafkaTopic
from gradstream.data.redis_stream.stream import RedisStream
from gradstream.data.source import each
from gradstream.errors import InvalidWorkload
from gradstream.input.followed.folder import Followed
from gradstream.input.followed.stream import FollowedStream
from gradstream.input.followed.topic import FollowedTopic
from gradstream.input.gather import PLAIN, Batching, Gather
from gradstream.input.shuffled import Shuffled, batches_of
from gradstream.input.streamed import Streamed, evaluation_batches
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec


class DatasetTooSmall(Exception):
    """There is not at least one example for every worker."""


class Lag(NamedTuple):
    """How far a worker is behind the data that it follows, and which of it is out of reach."""

    behind: int
    """Its examples that are there and not trained yet."""
    late: int
    """Files that came too late to be read."""
    leaderless: tuple[int, ...]
    """Partitions of a topic without a leader."""
    is_unreachable: bool
    """The whole stream or topic."""


class Feed(Protocol):
    """Where mini-batches come from."""

    thread_safe: bool
    """`take` draws from no generator of the process, so it may be called in a thread beside the model."""

    def share(self, rank: int) -> int | None:
        """Examples of this rank in one pass over the data; None: not known."""

    def take(self, position: int) -> tuple[Any, int]:
        """Mini-batch number `position` (from 0), on the CPU, and how many examples it has."""


class FollowedFeed(Feed, Protocol):
    """Where mini-batches come from while the job learns."""

    takes_in_turn: bool
    """A checkpoint says what was taken, and the rest is still needed: no mini-batch may be taken before its turn."""

    @property
    def late(self) -> Sequence[str]:
        """Names of files that came too late to be read."""

    @property
    def leaderless(self) -> tuple[int, ...]:
        """Partitions of a topic that have been without a leader for some seconds."""

    @property
    def is_unreachable(self) -> bool:
        """It has not answered for some seconds."""

    def has(self, position: int) -> bool:
        """Return whether this mini-batch is there. Looks for it if it was not. Raises: InvalidWorkload."""

    def behind(self, position: int) -> int:
        """Return the examples of this rank that are there, from the mini-batch of this position on. Raises: InvalidWorkload."""

    def pass_of(self, position: int) -> int: ...
    def passes_until(self, position: int) -> int:
        """Return the number of passes that are over for this rank with this mini-batch: the same whenever more data comes."""

    def begins_stretch(self, position: int) -> bool:
        """Return whether no round may go on from the mini-batch before this one."""

    def place(self) -> Place:
        """Return what was taken of data without numbers for its examples; empty: the position says it."""

    def go_to(self, position: int, place: Place) -> None:
        """Continue there, where an earlier incarnation of this rank had got to."""

    def begin(self, position: int) -> None:
        """The worker trains this mini-batch now, which may have been taken earlier."""

    def state(self) -> dict[str, Any]:
        """Return what spares the next incarnation of this rank a search; it finds the same mini-batches without."""

    def load(self, state: dict[str, Any]) -> None: ...


_FOLLOWED = Followed | FollowedStream | FollowedTopic


class Batches:
    """`total` mini-batches; the last of an epoch may be smaller, or is left out."""

    def __init__(self, dataset: Dataset[Any], spec: JobSpec, rank: int, batching: Batching = PLAIN) -> None:
        """Raises: DatasetTooSmall, InvalidWorkload."""
        self.streams = isinstance(dataset, IterableDataset)
        """Mini-batches come in an order of their own."""
        self._feed = _feed(dataset, spec, rank, batching)
        self._batch, self._drop_last = spec.batch_size, batching.drop_last
        deals = spec.data.deal == "demand"
        shares = [self._feed.share(r) for r in range(1 if deals else spec.roles.worker.count)]
        if deals and not isinstance(self._feed, Shuffled):
            raise InvalidWorkload(
                "data.deal: demand deals mini-batches by their numbers, and an iterable data set has none; set it to shares, or "
                "give dataset('train') a __len__ and __getitem__"
            )
        if not all(share is None or self._per_epoch(share) for share in shares):
            raise _too_small([share or 0 for share in shares], self._batch if self._drop_last else 1)
        if None in shares:
            _needs_no_length(spec, followed=isinstance(self._feed, _FOLLOWED))
        self.thread_safe = self._feed.thread_safe
        """`fetch` may be called in a thread beside the model."""
        share = shares[0] if deals else shares[rank]
        self.total = self._total(spec, share)
        self.planned = self.total if deals else 0
        """Mini-batches of all workers, if the servers deal them; else 0."""
        self.per_epoch = self._per_epoch(share) or self.total
        """Mini-batches in one pass over this rank's share, or over the whole data if they are dealt; if that is not known, all."""
        self.total_samples = 0 if spec.stop.never else sum(self._samples(self._total(spec, share), share) for share in shares)
        """Samples of the whole run; with an unknown length, those of full batches. 0: it has no end."""
        self.epoch_samples = None if None in shares else sum(self._trained(share or 0) for share in shares)
        """Samples in one pass of all ranks over the data; None: not known."""
        self.followed: FollowedFeed | None = self._feed if isinstance(self._feed, _FOLLOWED) else None
        """The feed, if its data grows while the job learns."""
        self.fetch = self._feed.take
        """Mini-batch number `position` (from 0) of this rank, on the CPU, and how many examples it has."""

    def take(self, position: int, device: torch.device) -> tuple[Any, int]:
        """The same, on `device`."""
        batch, examples = self.fetch(position)
        return to_device(batch, device), examples

    def _per_epoch(self, share: int | None) -> int | None:
        return None if share is None else batches_of(share, self._batch, self._drop_last)

    def _trained(self, share: int) -> int:
        """Examples of a share that are trained in one pass."""
        return share - share % self._batch if self._drop_last else share

    def _total(self, spec: JobSpec, share: int | None) -> int:
        per_epoch = self._per_epoch(share)
        if spec.stop.never:
            return ENDLESS
        by_epochs = math.ceil(spec.stop.epochs * per_epoch) if spec.stop.epochs and per_epoch else None
        by_steps = spec.stop.steps and spec.stop.steps * (spec.roles.worker.count if spec.data.deal == "demand" else 1)
        return min(t for t in (by_epochs, by_steps) if t is not None)

    def _samples(self, total: int, share: int | None) -> int:
        if share is None:
            return total * self._batch
        epochs, rest = divmod(total, batches_of(share, self._batch, self._drop_last))
        return epochs * self._trained(share) + min(rest * self._batch, share)


def _feed(dataset: Dataset[Any], spec: JobSpec, rank: int, batching: Batching) -> Feed:
    """Raises: InvalidWorkload."""
    if isinstance(dataset, FollowedFolder):
        return Followed(dataset, spec, rank, batching)
    if spec.data.pass_seconds:
        raise InvalidWorkload(
            f"data.length: {spec.data.length} is a time, and only passes over a folder that grows go by time; give the number of "
            "examples in one pass, such as 100000, or remove it"
        )
    if isinstance(dataset, RedisStream):
        return FollowedStream(dataset, spec, rank, batching)
    if isinstance(dataset, KafkaTopic):
        return FollowedTopic(dataset, spec, rank, batching)
    if isinstance(dataset, IterableDataset):
        return Streamed(dataset, spec, rank, batching)
    if not isinstance(dataset, Sized):
        raise InvalidWorkload("dataset('train') must be a map-style data set with __len__ and __getitem__, or an IterableDataset")
    return Shuffled(Gather(dataset, batching), len(dataset), spec, rank, batching.drop_last)


def _too_small(shares: list[int], needs: int) -> DatasetTooSmall:
    if needs == 1:
        return DatasetTooSmall(
            f"dataset('train') has {sum(shares)} examples for {len(shares)} workers; give it more, or lower roles.worker.count"
        )
    return DatasetTooSmall(
        f"dataset('train') has {sum(shares)} examples for {len(shares)} workers, and with drop_last each needs a mini-batch of "
        f"{needs}; give it more, or lower batch_size or roles.worker.count"
    )


def _needs_no_length(spec: JobSpec, *, followed: bool) -> None:
    """Raises: InvalidWorkload."""
    if spec.counts_passes and not followed:
        raise InvalidWorkload(
            "exports or shrinks of tables go by passes, and the length of dataset('train') is not known; give it a __len__, or set "
            "data.length to the examples of one pass"
        )
    remedy = "give dataset('train') a __len__, or say how many examples one pass has with data.length"
    if spec.stop.epochs is not None:
        raise InvalidWorkload(f"stop.epochs counts passes over data whose length is not known: {remedy}, or set stop.steps alone")
    cadences = {"evaluate.every": spec.evaluate.cadence, "checkpoint.every": spec.checkpoint.cadence}
    cadences |= {f"tables.{name}.shrink": every for name, table in spec.tables.items() if (every := table.shrinks_every)}
    for key, cadence in cadences.items():
        if cadence.epochs is not None:
            if followed:
                others = "samples or passes" if key.startswith("tables") else "samples"
                raise InvalidWorkload(f"{key} counts epochs, and data that grows has none; write {others}")
            raise InvalidWorkload(f"{key} counts passes over data whose length is not known: {remedy}, or write samples")
    if "epochs" in type(spec.strategy).model_fields:
        raise InvalidWorkload(f"the strategy '{spec.strategy.name}' trains for whole epochs, whose length is not known: {remedy}")


def never_empty(dataset: Dataset[Any]) -> None:
    """Raises: InvalidWorkload, if the evaluation split has no example. An iterable one is found out when it is read."""
    if isinstance(dataset, IterableDataset):
        return
    if not isinstance(dataset, Sized):
        raise InvalidWorkload("dataset('eval') must be a map-style data set with __len__ and __getitem__, or an IterableDataset")
    if not len(dataset):
        raise InvalidWorkload("dataset('eval') is empty; the center is scored on it")


class EvaluationBatch(NamedTuple):
    """A mini-batch that some process scores."""

    start: int
    """The number of its first example."""
    batch: Any = None
    """On the CPU; None: the process takes it by itself."""
    examples: int = 0


class EvaluationSplit:
    """The whole evaluation split, in its own order."""

    def __init__(self, dataset: Dataset[Any], batch_size: int, device: torch.device, batching: Batching = PLAIN) -> None:
        self._dataset, self._size, self._device, self._batching = dataset, batch_size, device, batching
        self._gather: Gather | None = None

    def begin(self) -> None:
        """Call it in each process before it takes mini-batches. Raises: InvalidWorkload."""
        self._gather = None if isinstance(self._dataset, IterableDataset) else Gather(self._dataset, self._batching)

    def batches(self) -> Iterator[EvaluationBatch]:
        """Yield all mini-batches, for `take` in any process. An iterable data set is read here alone. Raises: InvalidWorkload, if
        the split is empty."""
        start = 0
        if isinstance(self._dataset, IterableDataset):
            for batch, examples in evaluation_batches(self._dataset, self._size, self._batching):
                yield EvaluationBatch(start, batch, examples)
                start += examples
        else:
            for start in range(0, len(cast(Sized, self._dataset)), self._size):
                yield EvaluationBatch(start)
            start = len(cast(Sized, self._dataset))
        if not start:
            raise InvalidWorkload("dataset('eval') gave no example; the center is scored on it")

    def take(self, one: EvaluationBatch) -> tuple[Any, int]:
        """Return a mini-batch, on the device, and how many examples it has."""
        batch, examples = one.batch, one.examples
        if self._gather:
            chosen = torch.arange(one.start, min(one.start + self._size, len(cast(Sized, self._dataset))))
            batch = self._gather.take(chosen, partial(seed_of, 0, "evaluation", one.start))
            examples = len(chosen)
        return to_device(batch, self._device), examples

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        """Raises: InvalidWorkload."""
        self.begin()
        return map(self.take, self.batches())


def to_device(batch: Any, device: torch.device) -> Any:
    """The same nest of tuples, lists and dicts with its tensors on `device`; a batch of another class by its own `to`."""
    if device.type == "cpu":
        return batch
    if hasattr(batch, "to") and not isinstance(batch, torch.Tensor):
        return batch.to(device)
    return each(batch, lambda tensor: tensor.to(device, non_blocking=True))
