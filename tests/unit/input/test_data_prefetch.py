"""Fetching ahead: the same batches bit for bit, by thread or process, from any position; what is waited for is `data_seconds`."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from gradstream import data
from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.input.data import Batches
from gradstream.input.fetchers import FetcherLost
from gradstream.input.prefetch import _CHECK_EVERY as LOOKED
from gradstream.input.prefetch import _NOT_FAST, Prefetched, _Watch
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from tests.support import eventually
from tests.unit.input.test_data import Augmented, job
from tests.unit.input.test_data_streams import Long, Pieces
from tests.unit.same import difference

CPU = torch.device("cpu")


def augmented() -> data.Source:
    return data.arrays(torch.arange(22.0)).augment(lambda x, generator: x + torch.rand(len(x), generator=generator))


class Nest(Dataset[Any]):
    """Tensors of all sorts, and what is none."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, at: int) -> Any:
        rows = {"half": torch.full((2, 3), at, dtype=torch.bfloat16), "flag": torch.tensor(at > 4), "none": torch.empty(0)}
        return rows, (str(at), torch.tensor(complex(at, -at)))


def taken(dataset: Any, spec: JobSpec, rank: int = 0, positions: range | None = None) -> list[Any]:
    batches = Prefetched(Batches(dataset, spec, rank), spec)
    try:
        return [batches.take(position, CPU) for position in positions or range(batches.total)]
    finally:
        batches.close()


WAYS: list[dict[str, Any]] = [
    {"prefetch": 0},
    {},
    {"prefetch": 1},
    {"prefetch": 3},
    {"processes": 1},
    {"prefetch": 5, "processes": 2},
]


@pytest.mark.few(9)
@pytest.mark.parametrize(
    "make", [Augmented, augmented, Nest, lambda: TensorDataset(torch.arange(22)), lambda: Long(22), lambda: Pieces(22)]
)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_batches_are_the_same_however_they_are_fetched_also_from_the_middle(make: Any, way: dict[str, Any]) -> None:
    if isinstance(make(), IterableDataset) and way.get("processes") == 2:
        pytest.skip("an iterable data set has one order")
    plain = taken(make(), job(data={"prefetch": 0}), 1)
    torch.manual_seed(len(str(way)))
    before = randomness.state()
    assert difference(taken(make(), job(data=way), 1), plain) is None
    assert difference(taken(make(), job(data=way), 1, range(2, len(plain))), plain[2:]) is None
    assert difference(before, randomness.state()) is None, "the numbers that the model draws are not touched"


@pytest.mark.parametrize("way", WAYS[2:5], ids=str)
def test_who_jumps_gets_the_batch_that_was_asked_for(way: dict[str, Any]) -> None:
    plain = taken(augmented(), job())
    batches = Prefetched(Batches(augmented(), job(data=way), 0), job(data=way))
    for position in (3, 4, 0, 1, 8, 2):
        assert difference(batches.take(position, CPU), plain[position]) is None
    batches.close()


class Noisy(nn.Module):
    """Draws while it computes, from all generators."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * (1 + 0.1 * random.random()) + 0.1 * numpy.random.rand()


WORKLOAD = """
import random

import numpy
import torch
from torch.utils.data import Dataset

from gradstream import Workload, data
from tests.unit.input.test_data_prefetch import Noisy

class Own(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, at):
        x = torch.tensor([at / 40, random.random(), 1.0]) + torch.rand(3) + numpy.random.rand()
        return x, x.sum(0, keepdim=True)

class Source(Own, data.Source):
    random = True
    def batch(self, chosen, generator=None):
        x = torch.rand(len(chosen), 3, generator=generator) + chosen[:, None] / 40
        return x, x.sum(1, keepdim=True)

class W(Workload):
    kind: str
    def model(self):
        return Noisy()
    def dataset(self, split):
        return {"own": Own, "source": Source}[self.kind]()
    def loss(self, model, batch):
        return (model(batch[0]) - batch[1]).square().mean()
"""


def replica(kind: str, way: dict[str, Any]) -> Replica:
    workload = {"entrypoint": "w_of_prefetch:W", "args": {"kind": kind}}
    spec = job(2, 4, workload=workload, data=way, strategy={"name": "adag", "lr": 0.01})
    code = UserCode(spec)
    batches = Prefetched(Batches(code.dataset("train"), spec, 0), spec)
    torch.manual_seed(11)
    random.seed(11)
    numpy.random.seed(11)
    return Replica(spec, ModelProblem(code, FlatModel(code.model(), CPU), batches))


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "w_of_prefetch.py").write_text(WORKLOAD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "w_of_prefetch", raising=False)


@pytest.mark.few(4)
@pytest.mark.usefixtures("workload")
@pytest.mark.parametrize("kind", ["own", "source"])
@pytest.mark.parametrize("way", WAYS[1:], ids=str)
def test_training_is_the_same_and_resumes_from_a_checkpoint_bit_for_bit(kind: str, way: dict[str, Any]) -> None:
    """With a model and a data set that both draw, while batches after the checkpoint are fetched already."""
    states = []
    for each in ({"prefetch": 0}, way):
        w = replica(kind, each)
        w.local(7)
        checkpoint = w.state()
        w.local(8)
        states += [checkpoint, w.state()]
        w._problem._batches.close()  # type: ignore[attr-defined]
    assert difference(states[:2], states[2:]) is None
    resumed = replica(kind, way)
    resumed.load(checkpoint)
    resumed.local(8)
    assert difference(states[1], resumed.state()) is None
    resumed._problem._batches.close()  # type: ignore[attr-defined]


class Gated(data.Source):
    """Gives a batch for every permit."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.fetched: list[int] = []
        self.threads: set[str] = set()

    def __len__(self) -> int:
        return 400

    def batch(self, chosen: torch.Tensor, generator: torch.Generator | None = None) -> Any:
        assert self.permits.acquire(timeout=60)
        self.fetched.append(len(self.fetched))
        self.threads.add(threading.current_thread().name)
        return chosen


def test_no_more_are_fetched_ahead_than_the_job_says() -> None:
    source, spec = Gated(), job(data={"prefetch": 3})
    batches = Prefetched(Batches(source, spec, 0), spec)
    source.permits.release(100)
    batches.take(0, CPU)
    eventually(lambda: len(source.fetched) == 4, "three more than were taken")
    time.sleep(0.05)  # for one too many
    assert len(source.fetched) == 4
    batches.take(1, CPU)
    eventually(lambda: len(source.fetched) == 5, "the next one")
    batches.close()
    assert source.threads == {"prefetch"}


def test_nothing_is_fetched_beyond_the_last_and_the_thread_ends() -> None:
    spec = job(data={"prefetch": 9})
    batches = Prefetched(Batches(TensorDataset(torch.arange(22)), spec, 0), spec)
    for position in range(batches.total):
        batches.take(position, CPU)
    assert batches._ahead
    thread = batches._ahead._thread
    eventually(lambda: not thread.is_alive(), "the thread's end")


class Failing(data.Source):
    def __len__(self) -> int:
        return 400

    def batch(self, chosen: torch.Tensor, generator: torch.Generator | None = None) -> Any:
        raise KeyError("no such picture")


class FailingAlone(Dataset[Any]):
    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        raise KeyError("no such picture")


class Odd(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one}, {two}")


class FailingOddly(FailingAlone):
    def __getitem__(self, at: int) -> Any:
        raise Odd(1, 2)


@pytest.mark.parametrize("dataset", [Failing(), FailingAlone()])
def test_what_the_data_set_raises_is_raised_where_it_is_waited_for(dataset: Any) -> None:
    with pytest.raises(KeyError, match="no such picture"):
        taken(dataset, job(data={"prefetch": 2}))


def test_what_cannot_be_sent_is_told_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)Odd: 1, 2.*in __getitem__"):
        taken(FailingOddly(), job(data={"prefetch": 2}))


def test_a_process_that_is_killed_is_no_mistake_of_the_workload() -> None:
    spec = job(data={"processes": 1}, stop={"epochs": 50})
    batches = Prefetched(Batches(Augmented(), spec, 0), spec)
    batches.take(0, CPU)
    [fetcher] = multiprocessing.active_children()
    assert fetcher.pid
    os.kill(fetcher.pid, signal.SIGKILL)

    def rest() -> None:
        for position in range(1, batches.total):
            batches.take(position, CPU)

    with pytest.raises(FetcherLost, match="exit code -9"):
        rest()
    batches.close()


def test_what_cannot_be_deterministic_is_refused() -> None:
    with pytest.raises(InvalidWorkload, match=r"data.processes: 0 means a thread"):
        taken(Augmented(), job(data={"prefetch": 2, "processes": 0}))
    with pytest.raises(InvalidWorkload, match=r"data.processes: an iterable data set is read in its own order"):
        taken(Long(22), job(data={"processes": 2}))
    with pytest.raises(ValidationError, match=r"data.processes: with 'prefetch: 0' nothing is fetched ahead"):
        job(data={"prefetch": 0, "processes": 1})


class TestChoosing:
    """When the job does not say."""

    def test_slow_twice_in_a_row_is_slow(self) -> None:
        for fetch, period, slow in ((2e-3, 10e-3, True), (2e-3, 30e-3, False), (0.5e-3, 1e-3, False)):
            watch = _Watch()
            for at in range(16):
                watch.saw(at * period, at * period + fetch)
            assert not watch.slow
            for at in range(16):
                watch.saw(at * period, at * period + fetch)
            assert watch.slow == slow

    def test_a_slow_source_gets_a_thread(self) -> None:
        source, spec = Gated(), job(stop={"epochs": 1})
        for _ in range(200):
            source.permits.release()

        class Slow(Gated):
            def batch(self, chosen: torch.Tensor, generator: torch.Generator | None = None) -> Any:
                time.sleep(2e-3)
                return source.batch(chosen)

        found = taken(Slow(), spec)
        assert source.threads == {"prefetch", threading.current_thread().name}
        assert difference(found, taken(data.arrays(torch.arange(400)), spec)) is None

    def test_a_slow_data_set_of_ones_own_gets_advice_once(self, caplog: pytest.LogCaptureFixture) -> None:
        class Slow(Augmented):
            def __getitem__(self, at: int) -> Any:
                time.sleep(1e-3)
                return super().__getitem__(at)

        taken(Slow(), job(stop={"epochs": 20}))
        assert caplog.text.count("'data: {processes: 1}' in the job file fetches ahead") == 1


class Sleeping(data.Source):
    def __init__(self) -> None:
        self.fetched = 0

    def __len__(self) -> int:
        return 4000

    def batch(self, chosen: torch.Tensor, generator: torch.Generator | None = None) -> Any:
        time.sleep(0.01)
        self.fetched += 1
        return torch.zeros(len(chosen), 3), torch.zeros(len(chosen), 1)


@pytest.mark.usefixtures("workload")
def test_what_a_worker_waits_for_a_slow_source_is_told_and_is_less_when_fetched_ahead() -> None:
    """`time/data` is `data_seconds`: a hundredth of a second for each batch, or for the first alone if computing takes longer."""
    waited = {}
    for prefetch in (0, 2):
        spec = job(1, workload={"entrypoint": "w_of_prefetch:W", "args": {"kind": "own"}}, data={"prefetch": prefetch})
        code = UserCode(spec)
        source = Sleeping()
        batches = Prefetched(Batches(source, spec, 0), spec)
        problem = ModelProblem(code, FlatModel(code.model(), CPU), batches)
        for position in range(10):
            problem.gradient(position)
            eventually(lambda: not prefetch or source.fetched > position + 1, "the next one to be fetched")  # noqa: B023
        waited[prefetch] = problem.data_seconds
        batches.close()
    assert waited[0] >= 0.1
    assert waited[2] < waited[0] / 2


class Counted(data.Source):
    """Each example is its number. Fails, and takes long, as often as it is told to."""

    def __init__(self) -> None:
        self.fetched = self.fails = self.slow = 0

    def __len__(self) -> int:
        return 22

    def batch(self, chosen: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        self.fetched += 1
        if self.slow:
            self.slow -= 1
            time.sleep(_NOT_FAST)
        if self.fails:
            self.fails -= 1
            raise OSError("the disk is away")
        return chosen


LONG = {"stop": {"epochs": 20}}


def looked_at(dataset: Any, spec: JobSpec) -> Prefetched:
    """Mini-batches have been taken until it is known whether that is fast."""
    batches = Prefetched(Batches(dataset, spec, 0), spec)
    for position in range(LOOKED):
        batches.prepare(position, CPU)
        assert batches._prepared is None, "nobody knows yet"
        batches.take(position, CPU)
    return batches


def test_what_was_prepared_is_taken_and_not_fetched_again() -> None:
    source, spec = Counted(), job(**LONG)
    batches, expected = looked_at(source, spec), Batches(Counted(), spec, 0)
    for position in range(LOOKED, LOOKED + 3):
        for _ in range(3):
            batches.prepare(position, CPU)
        assert source.fetched == position + 1
        assert not difference(batches.take(position, CPU), expected.take(position, CPU))
    batches.prepare(5, CPU)
    assert not difference(batches.take(7, CPU), expected.take(7, CPU)), "a worker that goes on somewhere else"
    assert not difference(batches.take(5, CPU), expected.take(5, CPU))
    fetched = source.fetched
    batches.prepare(batches.total, CPU)
    assert source.fetched == fetched, "there is none after the last"


def test_a_batch_that_cannot_be_prepared_fails_when_it_is_taken() -> None:
    source = Counted()
    batches = looked_at(source, job(**LONG))
    source.fails = 2
    batches.prepare(20, CPU)
    assert source.fails == 1
    with pytest.raises(OSError, match="the disk is away"):
        batches.take(20, CPU)
    batches.prepare(20, CPU)
    assert len(batches.take(20, CPU)[0]), "it is back"


def test_what_became_slow_is_not_prepared_until_it_is_fast_again() -> None:
    source = Counted()
    batches = looked_at(source, job(**LONG))
    source.slow = 1
    batches.prepare(20, CPU)
    batches.take(20, CPU)
    batches.prepare(21, CPU)
    assert batches._prepared is None
    for position in range(21, 21 + LOOKED):
        batches.take(position, CPU)
    batches.prepare(40, CPU)
    assert batches._prepared


@pytest.mark.parametrize("dataset", [Augmented(), Pieces(22)], ids=["draws", "stream"])
def test_only_what_draws_no_numbers_and_has_no_order_is_prepared(dataset: Any) -> None:
    batches = looked_at(dataset, job(**LONG))
    batches.prepare(20, CPU)
    assert batches._prepared is None


def test_nothing_is_prepared_if_the_job_wants_nothing_ahead() -> None:
    batches = looked_at(Counted(), job(**LONG, data={"prefetch": 0}))
    batches.prepare(20, CPU)
    assert batches._prepared is None


@pytest.mark.usefixtures("workload")
def test_a_mistake_in_the_data_set_blames_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = job(1, workload={"entrypoint": "w_of_prefetch:W", "args": {"kind": "own"}}, data={"prefetch": 2})
    code = UserCode(spec)
    problem = ModelProblem(code, FlatModel(code.model(), CPU), Prefetched(Batches(Failing(), spec, 0), spec))
    with pytest.raises(UserError, match=r"the workload failed in dataset\('train'\)"):
        problem.gradient(0)
