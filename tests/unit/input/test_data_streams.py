"""Iterable data sets: shares, passes, resuming by position, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset

from gradstream.data import Stream
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches, DatasetTooSmall, EvaluationSplit
from gradstream.spec import JobSpec
from tests.unit.input.test_data import job
from tests.unit.same import difference

CPU = torch.device("cpu")


class Counting(IterableDataset[Any]):
    """Examples (number in the pass, pass, a random number)."""

    def __init__(self, size: int) -> None:
        self.size, self.epoch = size, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.size):
            yield number, self.epoch, random.random()


class Long(Counting):
    def __len__(self) -> int:
        return self.size


class Seekable(Long):
    start = 0

    def seek(self, example: int) -> None:
        self.start = example

    def __iter__(self) -> Iterator[Any]:
        assert isinstance(self, Endless) or self.start < self.size
        for number in range(self.start, self.size):
            yield number, self.epoch, 0.0


class Endless(Seekable):
    __len__ = None  # type: ignore[assignment]


class Sharded(Long):
    def shard(self, rank: int, count: int) -> Long:
        return Owned(self.size - rank, rank)


class Owned(Long):
    def __init__(self, size: int, rank: int) -> None:
        super().__init__(size)
        self.rank = rank

    def __iter__(self) -> Iterator[Any]:
        for number, epoch, drawn in super().__iter__():
            yield 100 * self.rank + number, epoch, drawn


class Pieces(Stream):
    """Pieces of three."""

    def __init__(self, size: int, sized: bool = True) -> None:
        self.size = size
        if sized:
            self.__class__ = SizedPieces

    def pieces(self, start: int) -> Iterator[Any]:
        for first in range(start, self.size, 3):
            numbers = torch.arange(first, min(first + 3, self.size))
            yield {"x": numbers, "rest": (numbers * 10,)}


class SizedPieces(Pieces):
    def __len__(self) -> int:
        return self.size


def taken(dataset: Any, spec: JobSpec, rank: int, count: int | None = None) -> list[Any]:
    batches = Batches(dataset, spec, rank)
    return [batches.take(position, CPU)[0] for position in range(count or batches.total)]


@pytest.mark.parametrize("size", [16, 17, 18, 22, 23])
@pytest.mark.parametrize("kind", [Long, Seekable, SizedPieces])
def test_every_nth_example_of_each_pass_is_a_ranks(kind: Any, size: int) -> None:
    for rank in range(2):
        found = taken(kind(size), job(), rank)
        numbers = [batch["x"] if kind is SizedPieces else batch[0] for batch in found]
        assert torch.cat(numbers).tolist() == 3 * list(range(rank, size, 2))
        assert Batches(kind(size), job(), rank).total_samples == 3 * size
        assert max(map(len, numbers)) == 4


SPECS = {"epochs": {"stop": {"epochs": 3}}, "steps": {"stop": {"steps": 9}}}


@pytest.mark.parametrize(
    ("dataset", "stop"),
    [
        (Long(22), "epochs"),
        (Seekable(22), "epochs"),
        (Sharded(22), "epochs"),
        (Pieces(22), "epochs"),
        (Counting(22), "steps"),
        (Counting(17), "steps"),
        (Endless(10_000), "steps"),
        (Endless(22), "steps"),
        (Endless(16), "steps"),
        (Endless(17), "steps"),
        (Pieces(22, sized=False), "steps"),
        (Pieces(17, sized=False), "steps"),
    ],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_goes_on_from_any_position(dataset: Any, stop: str, rank: int) -> None:
    spec = job(**SPECS[stop])
    in_turn = taken(dataset, spec, rank)
    for position in range(len(in_turn)):
        resumed = Batches(dataset, spec, rank)
        found = [resumed.take(p, CPU)[0] for p in range(position, len(in_turn))]
        assert difference(found, in_turn[position:]) is None, f"from {position}"
    back_and_forth = Batches(dataset, spec, rank)
    for position in (3, 0, 2, 2, 8 if stop == "steps" else 5):
        assert difference(back_and_forth.take(position, CPU)[0], in_turn[position]) is None


def test_all_ranks_see_one_stream_though_it_draws() -> None:
    class Shuffling(Counting):
        def __iter__(self) -> Iterator[Any]:
            numbers = list(range(self.size))
            random.shuffle(numbers)
            yield from numbers

    seen = [torch.cat(taken(Shuffling(22), job(stop={"steps": 6}), rank, 3)).tolist() for rank in range(2)]
    assert sorted(seen[0] + seen[1]) == list(range(22))
    assert seen[0] != sorted(seen[0])


def test_passes_are_told_and_a_pass_of_a_length_that_is_not_known_ends_when_it_ends() -> None:
    found = taken(Counting(10), job(1, stop={"steps": 7}), 0)
    assert [batch[0].tolist() for batch in found[:4]] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], [0, 1, 2, 3]]
    assert [int(batch[1][0]) for batch in found] == [0, 0, 0, 1, 1, 1, 2]
    batches = Batches(Counting(10), job(2, stop={"steps": 7}), 0)
    assert (batches.total, batches.per_epoch, batches.total_samples, batches.epoch_samples) == (7, 7, 2 * 7 * 4, None)


def test_a_data_set_may_have_shards_of_its_own() -> None:
    found = [taken(Sharded(9), job(stop={"epochs": 1}), rank) for rank in range(2)]
    assert torch.cat([batch[0] for batch in found[0]]).tolist() == list(range(9))
    assert torch.cat([batch[0] for batch in found[1]]).tolist() == list(range(100, 108))
    assert Batches(Sharded(9), job(stop={"epochs": 1}), 0).total_samples == 17
    assert difference(found[0][0][2], found[1][0][2]) is not None, "shards draw their own numbers"


def test_the_job_may_declare_the_length() -> None:
    batches = Batches(Counting(22), job(data={"length": 16}), 0)
    assert (batches.total, batches.per_epoch, batches.total_samples, batches.epoch_samples) == (6, 2, 48, 16)
    assert [batches.take(p, CPU)[0][0].tolist() for p in (1, 2)] == [[8, 10, 12, 14], [0, 2, 4, 6]], "the rest is not read"


def test_what_cannot_work_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidWorkload, match=r"stop.epochs counts passes .* data.length, or set stop.steps alone"):
        Batches(Counting(22), job(), 0)
    with pytest.raises(InvalidWorkload, match=r"'fedavg' trains for whole epochs"):
        Batches(Counting(22), job(strategy={"name": "fedavg"}, stop={"steps": 3}), 0)
    with pytest.raises(DatasetTooSmall, match="has 1 examples for 2 workers"):
        Batches(Long(1), job(), 0)
    with pytest.raises(InvalidWorkload, match=r"ended after 22 of 24 examples; correct its __len__, or data.length"):
        taken(Counting(22), job(data={"length": 24}), 0)
    with pytest.raises(InvalidWorkload, match=r"a whole pass .* has nothing for one of 2 workers"):
        taken(Counting(1), job(stop={"steps": 3}), 1)
    with pytest.raises(InvalidWorkload, match="gave no example"):
        list(EvaluationSplit(Counting(0), 4, CPU))


@pytest.mark.parametrize("dataset", [Counting(10), Pieces(10)])
def test_an_evaluation_split_may_be_iterable(dataset: Any) -> None:
    first, second = (list(EvaluationSplit(dataset, 4, CPU)) for _ in range(2))
    assert [examples for _, examples in first] == [4, 4, 2]
    assert difference(first, second) is None


def test_a_stream_in_plain_torch_gives_examples() -> None:
    assert [int(example["x"]) for example in Pieces(7)] == list(range(7))
