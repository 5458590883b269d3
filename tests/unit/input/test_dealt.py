"""Mini-batches that are dealt on demand: functions of their numbers alone, and fetched ahead in the order of their grants."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch.utils.data import TensorDataset

from gradstream import data
from gradstream.center.dealing.grants import grant_of
from gradstream.center.entries import Response
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.gather import PLAIN
from gradstream.input.prefetch import Prefetched
from gradstream.spec import JobSpec
from gradstream.training.granted import GrantedBatches
from tests.unit.input.test_data import Augmented, job
from tests.unit.input.test_data_streams import Counting
from tests.unit.same import difference

CPU = torch.device("cpu")


def dealt(workers: int = 3, **more: Any) -> JobSpec:
    how = more.pop("data", {})
    return job(workers=workers, strategy={"name": "async"}, data={"deal": "demand", **how}, **more)


def granted_of(numbers: list[int]) -> GrantedBatches:
    granted = GrantedBatches()
    granted.receive(answer(0, numbers))
    return granted


def answer(seq: int, numbers: list[int]) -> Response:
    return Response(0, 0, seq, "ok" if not seq else "applied", 0, 0, 1, grant=grant_of(numbers))


@pytest.mark.parametrize("drop_last", [False, True])
def test_all_workers_have_the_mini_batches_of_one_worker_alone(drop_last: bool) -> None:
    batching = PLAIN._replace(drop_last=drop_last)
    alone = Batches(Augmented(), job(workers=1), 0, batching)
    for rank in range(3):
        batches = Batches(Augmented(), dealt(), rank, batching)
        assert (batches.planned, batches.total, batches.per_epoch) == (alone.total, alone.total, alone.per_epoch)
        assert (batches.total_samples, batches.epoch_samples) == (alone.total_samples, alone.epoch_samples)
        for number in range(batches.planned):
            assert difference(batches.take(number, CPU), alone.take(number, CPU)) is None


def test_steps_are_those_of_a_worker_and_shares_plan_none() -> None:
    spec = dealt(stop={"steps": 7})
    assert Batches(TensorDataset(torch.arange(200.0)), spec, 1).planned == 21
    assert Batches(TensorDataset(torch.arange(200.0)), job(workers=3), 1).planned == 0


def test_data_without_numbers_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidWorkload, match=r"data\.deal: .* set it to shares, or give dataset\('train'\) a __len__"):
        Batches(Counting(22), dealt(stop={"steps": 3}), 0)


def test_processes_cannot_fetch_what_is_dealt() -> None:
    with pytest.raises(InvalidWorkload, match=r"data\.prefetch: .* set data\.deal: shares"):
        Prefetched(Batches(Augmented(), dealt(data={"prefetch": 2}), 0), dealt(data={"prefetch": 2}))


def test_a_thread_fetches_the_next_that_was_granted() -> None:
    spec = dealt(data={"prefetch": 2})
    batches = Batches(data.arrays(torch.arange(400.0)), spec, 0)
    fetched: list[int] = []
    come = threading.Semaphore(0)
    plain = batches.fetch

    def fetch(number: int) -> tuple[Any, int]:
        fetched.append(number)
        come.release()
        return plain(number)

    batches.fetch = fetch  # type: ignore[method-assign]
    ahead = Prefetched(batches, spec)
    ahead.granted = granted_of([5, 6, 30, 2, 3])
    for place, number in enumerate([5, 6, 30, 2, 3]):
        assert ahead.granted.number == number
        assert difference(ahead.take(number, CPU), Batches(data.arrays(torch.arange(400.0)), spec, 0).take(number, CPU)) is None
        ahead.granted.take()
        for _ in range(min(place + 3, 5) - len(fetched)):
            assert come.acquire(timeout=10)
    assert fetched == [5, 6, 30, 2, 3]
    ahead.close()


def test_a_grant_that_overtook_another_waits_for_it() -> None:
    granted = granted_of([0, 1])
    assert not granted.awaits_grant
    granted.expect(1)
    granted.expect(2)
    granted.receive(answer(2, [4]))
    assert list(granted.ahead(9)) == [0, 1]
    granted.receive(answer(1, [2, 3]))
    assert list(granted.ahead(9)) == [0, 1, 2, 3, 4]
    assert not granted.awaits_grant


def test_a_resumed_worker_has_taken_some_of_its_first_grant() -> None:
    granted = GrantedBatches()
    granted.skip = 2
    granted.receive(answer(0, [7, 8, 9]))
    assert list(granted.ahead(9)) == [9]
    granted.expect(1)
    granted.receive(answer(1, [10]))
    assert list(granted.ahead(9)) == [9, 10]
