"""Shares of the data: the same batches for the same position, whoever asks when, and what they cost."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
import torch
from torch.utils.data import Dataset, Subset, TensorDataset, random_split

from gradstream import data
from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.input.data import Batches, DatasetTooSmall, EvaluationSplit, never_empty
from gradstream.input.shuffled import _epochs
from gradstream.spec import JobSpec
from tests.unit.same import difference

CPU = torch.device("cpu")


def job(workers: int = 2, batch_size: int = 4, **fields: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "d",
            "workload": {"entrypoint": "a:B"},
            "strategy": {"name": "async"},
            "batch_size": batch_size,
            "seed": 7,
            "roles": {"worker": {"count": workers}},
            "stop": {"epochs": 3},
            **fields,
        }
    )


class Augmented(Dataset[Any]):
    """Draws from all generators of the process."""

    def __len__(self) -> int:
        return 22

    def __getitem__(self, at: int) -> Any:
        return at, torch.rand(()), random.random(), float(numpy.random.rand())


def whole(dataset: Dataset[Any], spec: JobSpec, rank: int) -> list[Any]:
    batches = Batches(dataset, spec, rank)
    return [batches.take(position, CPU)[0] for position in range(batches.total)]


@pytest.mark.parametrize(("size", "workers", "batch_size"), [(22, 2, 4), (23, 3, 4), (5, 5, 4), (64, 2, 8), (10, 3, 100)])
def test_the_order_is_that_of_the_permutation_dealt_out_to_the_ranks(size: int, workers: int, batch_size: int) -> None:
    spec = job(workers, batch_size)
    for rank in range(workers):
        batches = Batches(TensorDataset(torch.arange(size)), spec, rank)
        found = [batches.take(position, CPU) for position in range(batches.total)]
        expected = []
        for epoch in range(3):
            order = torch.randperm(size, generator=torch.Generator().manual_seed(7 * 1_000_003 + epoch))
            expected += list(order[rank::workers].split(batch_size))
        assert [x.tolist() for (x,), _ in found] == [x.tolist() for x in expected]
        assert [examples for _, examples in found] == [len(x) for x in expected]
        assert (batches.total_samples, batches.epoch_samples) == (3 * size, size)


def test_four_bytes_order_as_eight_do() -> None:
    for size in (1, 2, 1000, 300_000):
        four, eight = (
            torch.randperm(size, dtype=dtype, generator=torch.Generator().manual_seed(3)) for dtype in (torch.int32, torch.int64)
        )
        assert torch.equal(four.long(), eight)


def test_ranks_of_one_process_share_a_permutation_and_leave_none_behind() -> None:
    _epochs.clear()
    made = [Batches(TensorDataset(torch.arange(50)), job(5), rank) for rank in range(5)]
    for batches in made:
        batches.take(0, CPU)
    assert len(_epochs) == 1
    for batches in made:
        batches.take(batches.per_epoch, CPU)
    assert [number for _, _, number in _epochs] == [1]


def test_random_numbers_of_a_batch_are_those_of_its_position() -> None:
    in_turn = whole(Augmented(), job(), 0)
    batches = Batches(Augmented(), job(), 0)
    torch.manual_seed(99)
    before = randomness.state()
    for position in (5, 0, 8):
        assert difference(batches.take(position, CPU)[0], in_turn[position]) is None
    assert difference(before, randomness.state()) is None, "the model's own numbers go on as if nothing had been drawn"
    assert difference(in_turn[0][1:], whole(Augmented(), job(), 1)[0][1:]) is not None
    assert difference(in_turn[0][1:], in_turn[6][1:]) is not None


def test_random_numbers_of_a_source_are_those_of_its_position() -> None:
    source = data.arrays(torch.arange(22.0)).augment(lambda x, generator: x + torch.rand(len(x), generator=generator))
    in_turn = whole(source, job(), 1)
    batches = Batches(source, job(), 1)
    torch.manual_seed(5)
    assert all(torch.equal(batches.take(position, CPU)[0], in_turn[position]) for position in (4, 1, 7))


def test_parts_of_data_sets_give_what_torch_collates() -> None:
    pairs = TensorDataset(torch.arange(40.0).view(20, 2), torch.arange(20))

    class Single(Dataset[Any]):
        def __getitem__(self, at: int) -> Any:
            return pairs[at]

        def __len__(self) -> int:
            return 20

    split = [random_split(each, [15, 5], torch.Generator().manual_seed(1))[0] for each in (pairs, Single())]
    nested = [Subset(part, [3, 1, 2, 8, 9, 10]) for part in split]
    for at_once, one_by_one in (split, nested):
        assert difference(whole(at_once, job(), 0), whole(one_by_one, job(), 0)) is None


def test_what_cannot_be_shared_out_is_refused() -> None:
    with pytest.raises(DatasetTooSmall, match="has 3 examples for 4 workers"):
        Batches(TensorDataset(torch.arange(3)), job(4), 0)
    with pytest.raises(InvalidWorkload, match="map-style"):
        Batches(iter([1, 2]), job(), 0)  # type: ignore[arg-type]
    with pytest.raises(InvalidWorkload, match="empty"):
        never_empty(TensorDataset(torch.empty(0)))


def test_the_evaluation_split_is_read_in_its_order_with_the_same_numbers_each_time() -> None:
    first, second = (list(EvaluationSplit(Augmented(), 8, CPU)) for _ in range(2))
    assert difference(first, second) is None
    assert [examples for _, examples in first] == [8, 8, 6]
    assert torch.cat([batch[0] for batch, _ in first]).tolist() == list(range(22))
