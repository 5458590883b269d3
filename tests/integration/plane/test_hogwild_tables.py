"""Threads of one worker that read rows of embedding tables: looked up once for all of them, and given back with the push that
brings their work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys
from gradstream.hogwild.problem import HogwildProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_tables import assert_nothing_left, served
from tests.nets import CPU
from tests.unit.sim.test_tables import ADAGRAD, FOLDER, HALF, KEPT, job, rows

Make = Callable[..., Cluster]
ADAG, ASYNC = {"name": "adag", "window": 6}, {"name": "async"}
CACHED = {"default": {"rule": {"name": "adagrad", "lr": 0.1}, "cache": {"rows": 300, "bound": 2}}}


class Noting(HogwildProblem):
    """Notes the keys that each push gives back, and those of each lookup."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.pushed: list[dict[str, set[int]]] = []
        self.looked_up: list[dict[str, set[int]]] = []
        self.threads_inside = self.most_inside = 0
        self._guard = threading.Lock()

    def take_row_gradients(self) -> Mapping[str, RowGradients]:
        taken = super().take_row_gradients()
        self.pushed.append({name: set(of_table.keys.tolist()) for name, of_table in taken.items()})
        return taken

    def look_up_with(self, look_up: Any, await_asked: Any) -> None:
        def noted(keys: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
            self.looked_up.append({name: set(of_table.keys.tolist()) for name, of_table in keys.items()})
            self._count_inside(1)
            found: Mapping[str, FoundRows] = look_up(keys)
            self._count_inside(-1)
            return found

        super().look_up_with(noted, await_asked)

    def _count_inside(self, change: int) -> None:
        with self._guard:
            self.threads_inside += change
            self.most_inside = max(self.most_inside, self.threads_inside)

    def keys_looked_up(self, table: str) -> int:
        return sum(len(keys.get(table, ())) for keys in self.looked_up)

    def keys_of_batches(self) -> list[set[int]]:
        return [set(self._batches.take(at, CPU)[0][0].flatten().tolist()) for at in range(self.total)]


def hogwild(threads: int, strategy: dict[str, Any], **more: Any) -> JobSpec:
    roles = {"worker": {"count": 1, "hogwild": threads, "device": "cpu"}, "server": {"count": 2}}
    return job(strategy, roles=roles, **more)


def train(cluster: Make, spec: JobSpec, local: tuple[int, ...] = (0, 1)) -> tuple[Cluster, torch.Tensor, Noting]:
    made: list[Noting] = []

    def problem(spec: JobSpec, rank: int) -> Noting:
        code = UserCode(spec)
        first = FlatModel(code.model(), CPU)
        flats = [first, *(FlatModel(code.model(), CPU, first) for _ in range(1, spec.roles.worker.hogwild))]
        found = working_rows(first.model, spec)
        noting = Noting(code, flats, Batches(code.dataset("train"), spec, max(0, rank)), spec, found)
        if rank == 0:
            made.append(noting)
        return noting

    attempt = cluster(spec, problem, local=local)
    center = attempt.run()
    assert_nothing_left(attempt)
    return attempt, center, made[0]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(FOLDER).resolve()))


@pytest.mark.few(2)
@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "named ahead"])
@pytest.mark.parametrize("tables", [ADAGRAD, KEPT, HALF, CACHED], ids=["adagrad", "kept", "half", "cached"])
@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
def test_one_thread_has_the_bits_of_a_plain_worker(
    strategy: dict[str, Any], tables: dict[str, Any], ahead: bool, cluster: Make
) -> None:
    spec = hogwild(1, strategy, tables=tables, args={"ahead": ahead})
    attempt, center, _ = train(cluster, spec)
    plain = sim.run(spec, Workloads(spec, FOLDER), align=4096)
    assert torch.equal(center, plain.center)
    assert served(attempt) == rows(plain)


@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "named ahead"])
@pytest.mark.parametrize("local", [(0, 1), ()], ids=["shared memory", "through Redis"])
def test_a_window_has_the_rows_of_one_thread_and_looks_each_up_once(ahead: bool, local: tuple[int, ...], cluster: Make) -> None:
    """The model has rows alone, which stand still within a window. So only the order of sums differs."""
    args = {"alone": True, "ahead": ahead}
    (alone, _, one), (shared, _, three) = (train(cluster, hogwild(threads, ADAG, args=args), local) for threads in (1, 3))
    of_one, of_three = (served(attempt)["wide"] for attempt in (alone, shared))
    assert sorted(of_one) == sorted(of_three)
    for key, (bits, updates) in of_one.items():
        expected, found = (torch.frombuffer(bytearray(each), dtype=torch.float32) for each in (bits, of_three[key][0]))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
        assert of_three[key][1] == updates
    batches = three.keys_of_batches()
    windows = [set[int]().union(*batches[at : at + 6]) for at in range(0, three.total, 6)]
    for problem in (one, three):
        assert [each["wide"] for each in problem.pushed] == windows
        first = windows[:1] if ahead else windows
        assert problem.keys_looked_up("wide") == sum(map(len, first)), "a push asks for the rows of the next window"
        assert problem.most_inside == 1


@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "named ahead"])
@pytest.mark.parametrize("threads", [2, 3])
def test_each_gradient_gives_back_the_rows_of_its_own_mini_batch(threads: int, ahead: bool, cluster: Make) -> None:
    attempt, _, problem = train(cluster, hogwild(threads, ASYNC, args={"ahead": ahead}))
    batches = problem.keys_of_batches()
    assert [each["deep"] for each in problem.pushed] == batches
    assert [each["wide"] for each in problem.pushed] == batches
    assert attempt.servers[0].shard.ledger.accounts[0].pushed == problem.total
    if ahead:
        assert len(problem.looked_up) <= threads, "the last push of a round asks for the rows of the next one"


@pytest.mark.few(1)
@pytest.mark.parametrize("tables", [ADAGRAD, CACHED], ids=["adagrad", "cached"])
@pytest.mark.parametrize("strategy", [ADAG, ASYNC], ids=["adag", "async"])
def test_threads_learn_what_one_thread_learns(strategy: dict[str, Any], tables: dict[str, Any], cluster: Make) -> None:
    found = []
    for threads in (1, 3):
        spec = hogwild(threads, strategy, tables=tables, stop={"epochs": 4}, args={"observes": True})
        attempt, center, _ = train(cluster, spec)
        found.append((center.norm(), len(served(attempt)["deep"])))
    assert found[1][1] == found[0][1]
    assert found[1][0] == pytest.approx(found[0][0], rel=0.05)
