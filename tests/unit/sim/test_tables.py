"""Embedding tables at the shards of a simulated center: laws, resumed checkpoints, deaths, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.nn import TableOptimizer
from gradstream.process.exits import UserError
from gradstream.sim import Result, WorkerFailure, run
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.userland.planted_clicks import Clicks

FOLDER = Path("tests/userland")
ADAGRAD = {"default": {"rule": {"name": "adagrad", "lr": 0.1}}}
ADMITTED = {"default": {"rule": {"name": "adam", "lr": 0.01, "damp": True}, "admit": {"count": 2}}}
FTRL = {"wide": {"rule": {"name": "ftrl", "alpha": 0.3, "l1": 0.1}, "gradient": "sum"}, "deep": {"most": 1024}}
ROUNDS = ["sync", "local_sgd", "diloco", "fedavg"]
AT_ONCE = ["async", "adag", "downpour", "dynsgd", "easgd", "geo"]


def job(strategy: str, *, workers: int = 3, shards: int = 1, args: dict[str, Any] | None = None, **more: Any) -> JobSpec:
    given = {
        "name": "clicks",
        "workload": {"entrypoint": "planted_clicks:Clicks", "args": args or {}},
        "strategy": {"name": strategy},
        "roles": {"worker": {"count": workers}, "server": {"count": shards}},
        "batch_size": 32,
        "stop": {"epochs": 1},
        "tables": ADAGRAD,
    }
    return JobSpec.model_validate(given | more)


def train(spec: JobSpec, **options: Any) -> Result:
    return run(spec, Workloads(spec, FOLDER), **options)


def rows(result: Result) -> dict[str, dict[int, tuple[bytes, int]]]:
    """Weights with state, and updates, by table and key."""
    found: dict[str, dict[int, tuple[bytes, int]]] = {}
    for shard in result.shards:
        for name, table in shard["center"]["tables"]["tables"].items():
            columns = {column: values.numpy() for column, values in table["columns"].items()}
            of_keys = zip(columns["keys"], columns["values"], columns["updates"], strict=True)
            found.setdefault(name, {}).update({int(key): (values.tobytes(), int(updates)) for key, values, updates in of_keys})
    return found


def accounts(result: Result) -> Counter[str]:
    total = Counter[str]()
    for shard in result.shards:
        for table in shard["center"]["tables"]["tables"].values():
            total.update(table["account"])
    return total


def assert_same(one: Result, other: Result) -> None:
    assert torch.equal(one.center, other.center)
    assert rows(one) == rows(other)
    assert accounts(one) == accounts(other)


@pytest.mark.parametrize("tables", [ADAGRAD, ADMITTED, FTRL], ids=["adagrad", "admitted", "ftrl"])
@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_any_number_of_shards_gives_the_same_bits(strategy: str, tables: dict[str, Any]) -> None:
    alone = train(job(strategy, tables=tables))
    assert len(rows(alone)["deep"]) > 100
    for shards in (3, 7):
        assert_same(alone, train(job(strategy, shards=shards, tables=tables)))


@pytest.mark.parametrize("strategy", [*ROUNDS, *AT_ONCE])
def test_tables_learn_under_every_strategy(strategy: str) -> None:
    spec = job(strategy, stop={"epochs": 6})
    workloads, losses = Workloads(spec, FOLDER), list[float]()
    run(spec, workloads, watch=lambda view: losses.append(workloads.evaluate(view)["loss"]), watch_every=11_999)
    assert losses[-1] < 0.64 < 0.69, "the loss of a model that has learned nothing is 0.69"


def test_rounds_over_all_examples_are_the_steps_of_a_plain_loop() -> None:
    """Each of 4 workers has a quarter of the examples as its mini-batch, in an order of its own."""
    settings = {"examples": 400}
    spec = job("sync", workers=4, shards=3, args=settings, batch_size=100, stop={"steps": 5}, optimizer={"name": "sgd", "lr": 0.1})
    result = train(spec)
    with randomness.seeded(spec.seed):
        model = Clicks(**settings).model()
    dense, sparse = torch.optim.SGD(model.parameters(), lr=0.1), TableOptimizer(model, ADAGRAD, spec.seed)
    ids, clicks = Clicks(**settings).dataset("train").tensors  # type: ignore[attr-defined]
    for _ in range(5):
        dense.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(ids), clicks).backward()
        dense.step()
        sparse.step()
    assert torch.allclose(result.center, torch.cat([p.detach().ravel() for p in model.parameters()]), atol=1e-5)
    for name, table in sparse.state_dict()["tables"].items():
        plain = dict(zip(table["keys"].tolist(), table["values"], strict=True))
        assert set(plain) == set(rows(result)[name])
        for key, (packed, updates) in rows(result)[name].items():
            assert torch.allclose(torch.frombuffer(bytearray(packed), dtype=torch.float32), plain[key], atol=1e-4), (name, key)
            assert updates == 5


@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_a_run_resumed_from_a_checkpoint_has_the_bits_of_an_undisturbed_one(strategy: str) -> None:
    spec = job(strategy, shards=2, stop={"steps": 20})
    half = train(spec, checkpoints=[16], events=40)
    assert_same(train(spec, checkpoints=[16]), train(spec, resume=half.checkpoints[16]))


def test_the_rows_of_lost_and_late_pushes_are_counted() -> None:
    spec = job("async", workers=4, gate={"mode": "asp", "max_staleness": 2}, stop={"steps": 30})
    result = train(spec, schedule="random", failures=[WorkerFailure(20, 1), WorkerFailure(50, 2)])
    found = accounts(result)
    assert found["dropped"] > 0
    assert found["applied"] == sum(updates for table in rows(result).values() for _, updates in table.values())


def test_entries_that_reach_the_log_twice_change_nothing() -> None:
    assert_same(train(job("async")), train(job("async"), duplicates=0.3))


def test_ids_named_ahead_change_no_bit() -> None:
    assert_same(train(job("async")), train(job("async", args={"ahead": True})))


def test_a_model_may_be_a_table_alone() -> None:
    result = train(job("async", args={"alone": True}, tables={}))
    assert result.center.numel() == 0
    assert result.version == result.events
    assert rows(result)["wide"]


def test_workers_that_wait_for_rows_keep_random_numbers_of_their_own() -> None:
    """In a forward that draws, others run meanwhile; with the ids named ahead they do not."""
    assert_same(train(job("async", args={"draws": True})), train(job("async", args={"draws": True, "ahead": True})))


def test_evaluations_leave_every_bit() -> None:
    spec = job("async")
    workloads = Workloads(spec, FOLDER)

    def look(view: Any) -> None:
        workloads.evaluate(view)

    assert_same(train(spec), run(spec, workloads, watch=look, watch_every=200))


def test_wrong_settings_name_the_table_and_the_remedy() -> None:
    with pytest.raises(InvalidWorkload, match="no table 'deap'; did you mean 'deep'"):
        train(job("async", tables={"deap": {}}))
    with pytest.raises(InvalidWorkload, match="members"):
        train(job("async", members=2))


def test_ids_of_an_unknown_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = job("async")
    workloads = Workloads(spec, FOLDER)
    import planted_clicks  # type: ignore[import-not-found]  # as the job imports it

    monkeypatch.setattr(planted_clicks.Clicks, "ids", lambda self, batch: {"widely": batch[0]})
    with pytest.raises(UserError, match="failed in ids") as error:
        run(spec, workloads)
    assert "no table 'widely'" in str(error.value.__cause__)
