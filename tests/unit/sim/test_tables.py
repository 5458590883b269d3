"""Embedding tables at the shards of a simulated center: laws, resumed checkpoints, deaths, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset

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
KEPT = {
    "wide": {"keep": {"decay": 0.9, "score": 0.5}, "shrink": "300 samples"},
    "deep": {"keep": {"unseen": 1}, "admit": {"count": 2}, "shrink": "0.25 epochs"},
}
"""Shows and clicks, candidates, and shrinks at two intervals."""
FTRL = {"wide": {"rule": {"name": "ftrl", "alpha": 0.3, "l1": 0.1}, "gradient": "sum"}, "deep": {"most": 1024}}
HALF = {"wide": {"codec": "bf16"}, "deep": {"codec": "fp16", "keep": {"unseen": 2}}}
"""Rows and gradients that travel in 16 bits."""
COLD = {"wide": {"memory": {"rows": 40}}, "deep": {"rule": {"name": "adam"}, "memory": {"rows": 1}, "keep": {"unseen": 2}}}
"""Tables that keep few rows in memory."""
EASGD, DOWNPOUR = {"name": "easgd", "window": 3}, {"name": "downpour", "n_push": 3, "n_fetch": 2}
"""A worker has gradients that it has not pushed when others stand at a boundary."""
ROUNDS = ["sync", "local_sgd", "diloco", "fedavg"]
AT_ONCE = ["async", "adag", "downpour", "dynsgd", "easgd", "geo"]


def job(
    strategy: str | dict[str, Any], *, workers: int = 3, shards: int = 1, args: dict[str, Any] | None = None, **more: Any
) -> JobSpec:
    given = {
        "name": "clicks",
        "workload": {"entrypoint": "planted_clicks:Clicks", "args": args or {}},
        "strategy": {"name": strategy} if isinstance(strategy, str) else strategy,
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


def evicted(result: Result) -> int:
    return sum(table["evicted"] for shard in result.shards for table in shard["center"]["tables"]["tables"].values())


def made_and_evicted(result: Result) -> list[tuple[int, int]]:
    """Rows of each table, by shard."""
    tables = [table for shard in result.shards for table in shard["center"]["tables"]["tables"].values()]
    return [(table["made"], table["evicted_rows"]) for table in tables]


def assert_same(one: Result, other: Result) -> None:
    assert torch.equal(one.center, other.center)
    assert rows(one) == rows(other)
    assert accounts(one) == accounts(other)


@pytest.mark.few(1)
@pytest.mark.parametrize("tables", [ADAGRAD, ADMITTED, FTRL, KEPT, HALF], ids=["adagrad", "admitted", "ftrl", "kept", "half"])
@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_any_number_of_shards_gives_the_same_bits(strategy: str, tables: dict[str, Any]) -> None:
    alone = train(job(strategy, tables=tables))
    assert len(rows(alone)["deep"]) > 100
    for shards in (3, 7):
        assert_same(alone, train(job(strategy, shards=shards, tables=tables)))


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", [*ROUNDS, *AT_ONCE])
def test_tables_learn_under_every_strategy(strategy: str) -> None:
    spec = job(strategy, stop={"epochs": 6})
    workloads, losses = Workloads(spec, FOLDER), list[float]()
    run(spec, workloads, watch=lambda view: losses.append(workloads.evaluate(view)["loss"]), watch_every=11_999)
    assert losses[-1] < 0.64 < 0.69, "the loss of a model that has learned nothing is 0.69"


@pytest.mark.few(1)
@pytest.mark.parametrize(("codec", "nearest"), [("fp16", 0.01), ("bf16", 0.05)])
def test_rows_that_travel_in_16_bits_lead_to_about_the_same_rows(codec: str, nearest: float) -> None:
    """Stored rows are fp32, so no rounding adds up. A step of Adagrad is about 0.05, whatever the size of its gradient."""
    plain, half = (train(job("sync", tables={"default": {"codec": each}})) for each in ("raw", codec))
    assert list(rows(plain)["deep"]) == list(rows(half)["deep"])
    both = [
        [torch.frombuffer(bytearray(bits), dtype=torch.float32) for bits, _ in rows(one)["deep"].values()] for one in (plain, half)
    ]
    apart = (torch.stack(both[0]) - torch.stack(both[1])).abs().max().item()
    assert 0 < apart < nearest


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


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_a_run_resumed_from_a_checkpoint_has_the_bits_of_an_undisturbed_one(strategy: str) -> None:
    spec = job(strategy, shards=2, stop={"steps": 20})
    half = train(spec, checkpoints=[16], events=40)
    assert_same(train(spec, checkpoints=[16]), train(spec, resume=half.checkpoints[16]))


@pytest.mark.more
@pytest.mark.parametrize("strategy", [EASGD, DOWNPOUR], ids=["easgd", "downpour"])
def test_gradients_of_rows_that_wait_for_an_exchange_stand_in_checkpoints(strategy: dict[str, Any]) -> None:
    """A run resumed between two windows has the bits of an undisturbed one, and steps damped by the same staleness of rows."""
    spec = job(strategy, shards=2, stop={"steps": 40}, tables=ADMITTED)
    half = train(spec, checkpoints=[16], events=26)
    assert any(state["replica"]["problem"]["rows"]["gradients"] for state in half.checkpoints[16].workers.values())
    assert_same(train(spec, checkpoints=[16]), train(spec, resume=half.checkpoints[16]))


@pytest.mark.more
@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_shrinks_stand_in_checkpoints(strategy: str) -> None:
    """A run resumed between two shrinks has the bits of an undisturbed one."""
    spec = job(strategy, shards=2, stop={"steps": 30}, tables=KEPT)
    half = train(spec, checkpoints=[20], events=45)
    assert evicted(half) > 0
    whole, resumed = train(spec, checkpoints=[20]), train(spec, resume=half.checkpoints[20])
    assert_same(whole, resumed)
    assert evicted(whole) == evicted(resumed) > evicted(half)
    assert made_and_evicted(whole) == made_and_evicted(resumed)
    assert sum(made - gone for made, gone in made_and_evicted(whole)) == sum(len(of_table) for of_table in rows(whole).values())


def test_shrinks_and_clicks_of_a_job_are_those_of_a_plain_loop() -> None:
    """One worker; a shrink of each table at its own interval, after the step that reaches it; clicks in two micro-batches."""
    spec = job("sync", workers=1, tables=KEPT, accumulate=2, optimizer={"name": "sgd", "lr": 0.1})
    workloads = Workloads(spec, FOLDER)
    result = run(spec, workloads)
    with randomness.seeded(spec.seed):
        model = Clicks().model()
    rules = {name: {key: value for key, value in rule.items() if key != "shrink"} for name, rule in KEPT.items()}
    dense, sparse = torch.optim.SGD(model.parameters(), lr=0.1), TableOptimizer(model, rules, spec.seed)
    problem, samples = workloads(spec, 0)._problem, 0
    for position in range(problem.total):
        (ids, clicks), examples = problem._batches.take(position, torch.device("cpu"))
        dense.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(ids), clicks).backward()
        dense.step()
        sparse.step(clicks=clicks)
        before, samples = samples, samples + examples
        for name, every in {"wide": 300, "deep": 500}.items():
            if before // every < samples // every:
                sparse.shrink([name])
    summary = sparse.summary()
    assert sum(table.evicted for table in summary.values()) == evicted(result) > 100
    for name, table in sparse.state_dict()["tables"].items():
        stored = result.shards[0]["center"]["tables"]["tables"][name]
        assert stored["time"] == table["time"] > 3
        for column in ("keys", "seen", "events", "waiting", "waiting_seen", "waiting_events"):
            assert torch.equal(stored["columns"][column], table[column]), (name, column)
        assert torch.allclose(stored["columns"]["values"], table["values"], atol=1e-4)


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
    with pytest.raises(InvalidWorkload, match=r"best: the rows of the best evaluation .*; remove best\. With `export"):
        train(job("async", best={"metric": "eval/loss"}))


@pytest.fixture
def imported() -> type[Clicks]:
    """The class as jobs import it."""
    return type(Workloads(job("async"), FOLDER)._code._workload)  # type: ignore[return-value]


def test_ids_of_an_unknown_table_are_refused(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported, "ids", lambda self, batch: {"widely": batch[0]})
    with pytest.raises(UserError, match="failed in ids") as error:
        train(job("async"))
    assert "no table 'widely'" in str(error.value.__cause__)


def test_wrong_clicks_are_told_as_the_user_s(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, words in (
        (lambda self, batch: batch[1][:-1], "31 clicks for a forward of 32 examples; give one for each"),
        (lambda self, batch: [1], "clicks() must return a tensor with a number for each example, not a list"),
        (lambda self, batch: batch[1] - 1, "clicks lie between -1.0 and 0.0; make them finite, and 0 or more"),
    ):
        monkeypatch.setattr(imported, "clicks", wrong)
        with pytest.raises(UserError, match=r"failed in clicks\(\)") as error:
            train(job("sync", workers=1, tables=KEPT, stop={"steps": 2}))
        assert words in str(error.value.__cause__)


def test_clicks_are_asked_for_only_if_a_table_uses_scores(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported, "clicks", lambda self, batch: None)
    train(job("sync", stop={"steps": 2}))


@pytest.mark.more
def test_tables_that_shrink_keep_their_rows_without_clicks(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    """No show has a click then, so fewer rows reach the score."""
    with_clicks = train(job("sync", tables=KEPT))
    monkeypatch.delattr(imported, "clicks")
    without = train(job("sync", tables=KEPT))
    assert 0 < len(rows(without)["wide"]) < len(rows(with_clicks)["wide"])


def test_data_without_a_length_shrinks_by_samples(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = Clicks().dataset("train")

    class Endless(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            while True:
                yield from (tensors[i] for i in range(2000))

    monkeypatch.setattr(imported, "dataset", lambda self, split: Endless())
    by_epochs = job("sync", tables=KEPT, stop={"steps": 10})
    with pytest.raises(
        InvalidWorkload, match=r"tables.deep.shrink counts passes over data whose length is not known: .* write samples"
    ):
        train(by_epochs)
    by_samples = {name: {**rule, "shrink": "300 samples"} for name, rule in KEPT.items()}
    assert evicted(train(job("sync", tables=by_samples, stop={"steps": 30}))) > 0
