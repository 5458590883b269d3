"""Rows that a push asks for, against those that are looked up when the model asks: the same bits, and fewer entries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream.center.entries import Entry, Lookup, Payload, Push
from gradstream.data.ragged import Ragged
from gradstream.process.exits import UserError
from gradstream.sim import Costs, Result, WorkerFailure
from gradstream.sim.center import Settled, ShardedCenter
from tests.unit.sim.test_tables import (
    ADMITTED,
    DOWNPOUR,
    EASGD,
    FTRL,
    HALF,
    KEPT,
    accounts,
    assert_same,
    imported,
    job,
    made_and_evicted,
    train,
)
from tests.userland.planted_clicks import Clicks

__all__ = ["imported"]
AHEAD = {"ahead": True}


class Entries:
    """Counts the entries that reach a log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lookups, self.asking, self.looked_up = Counter[int](), 0, 0
        handle = ShardedCenter.handle

        def counted(center: ShardedCenter, entry: Entry, payload: Payload | None) -> Settled:
            if isinstance(entry, Lookup) and payload and payload.rows:
                self.lookups[entry.rank] += 1
                self.looked_up += sum(len(of_table.keys) for of_table in payload.rows.values())
            self.asking += isinstance(entry, Push) and payload is not None and payload.asks is not None
            return handle(center, entry, payload)

        monkeypatch.setattr(ShardedCenter, "handle", counted)


def both(strategy: str, *, draws: bool = False, options: dict[str, Any] | None = None, **more: Any) -> tuple[Result, Result]:
    """The results without `ids` and with it."""
    args = {"draws": draws}
    return tuple(train(job(strategy, args=args | each, **more), **(options or {})) for each in ({}, AHEAD))  # type: ignore[return-value]


def decided(result: Result) -> list[tuple[int, str, int, float]]:
    return [(each.rank, each.outcome, each.staleness, each.norm) for each in result.decisions]


def test_only_the_first_mini_batch_of_each_worker_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = Entries(monkeypatch)
    result = train(job("sync", shards=3, args=AHEAD, stop={"steps": 10}))
    assert entries.lookups == {0: 1, 1: 1, 2: 1}
    assert entries.asking == result.events - 3, "no mini-batch follows the last push of each worker"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        ("sync", {"tables": KEPT, "shards": 3}),
        ("sync", {"tables": ADMITTED}),
        ("sync", {"tables": HALF, "pull_codec": {"name": "bf16"}}),
        ("local_sgd", {"tables": FTRL}),
        ("diloco", {}),
        ("fedavg", {}),
        ("easgd", {"gate": {"mode": "bsp"}}),
        ("geo", {"gate": {"mode": "bsp"}}),
    ],
)
def test_rounds_have_the_bits_of_rows_that_are_looked_up(strategy: str, more: dict[str, Any]) -> None:
    looked_up, asked = both(strategy, draws=strategy == "sync", **more)
    assert_same(looked_up, asked)
    assert made_and_evicted(looked_up) == made_and_evicted(asked)
    assert looked_up.losses == asked.losses


@pytest.mark.more
@pytest.mark.parametrize("strategy", ["async", "downpour"])
def test_the_same_log_gives_the_same_bits_where_pushes_count_alone(strategy: str) -> None:
    """No message takes time here, so no push comes between another one and the lookup after it."""
    looked_up, asked = both(strategy, tables=KEPT, options={"costs": Costs("lognormal:0.5")})
    assert_same(looked_up, asked)
    assert decided(looked_up) == decided(asked)
    assert accounts(asked)["missed"] + accounts(asked)["counted"] > 0


def test_windows_ask_for_all_their_mini_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second on: then the number of mini-batches is known."""
    entries = Entries(monkeypatch)
    train(job("local_sgd", args=AHEAD, stop={"steps": 32}))
    assert entries.lookups == dict.fromkeys(range(3), 16)


@pytest.mark.more
def test_asking_saves_a_round_trip_of_each_round() -> None:
    costs = Costs(step=1.0, latency=0.25)
    looked_up, asked = both("sync", stop={"steps": 20}, options={"costs": costs})
    assert_same(looked_up, asked)
    assert looked_up.time == pytest.approx(20 * (1 + 3 * 2 * 0.25), abs=1), "a lookup for each of two tables"
    assert asked.time == pytest.approx(20 * (1 + 2 * 0.25), abs=1)


@pytest.mark.more
@pytest.mark.parametrize("options", [{"duplicates": 0.4}, {"failures": [WorkerFailure(11, 1), WorkerFailure(30, 2)]}], ids=str)
def test_repeats_and_deaths_leave_every_bit_of_the_asked_rows(options: dict[str, Any]) -> None:
    assert_same(*both("sync", shards=2, tables=KEPT, stop={"steps": 20}, options=options))


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", ["sync", "async", EASGD, DOWNPOUR], ids=["sync", "async", "easgd", "downpour"])
def test_rows_that_were_asked_for_are_looked_up_anew_after_a_checkpoint(
    strategy: str | dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a job that resumes from it has the bits of the one that went on, with caches, too."""
    rules = KEPT if isinstance(strategy, str) else {"deep": ADMITTED["default"]}
    tables = {name: {**rules.get(name, {}), "cache": {"rows": 200, "bound": 3}} for name in ("wide", "deep")}
    spec = job(strategy, shards=2, args=AHEAD, tables=tables, stop={"steps": 20})
    half = train(spec, checkpoints=[6], events=15)
    entries = Entries(monkeypatch)
    went_on = train(spec, checkpoints=[6])
    assert 3 < entries.lookups.total() < 40, "of 60 mini-batches"
    assert_same(went_on, train(spec, resume=half.checkpoints[6]))


def test_ids_that_name_too_little_leave_the_rest_to_lookups(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = train(job("sync"))
    monkeypatch.setattr(imported, "ids", lambda self, batch: {"deep": batch[0][:, :2]})
    entries = Entries(monkeypatch)
    assert_same(looked_up, train(job("sync")))
    assert entries.asking > 50
    assert entries.lookups.total() > 100, "of the table 'wide', and of the other ids of 'deep'"


@pytest.mark.parametrize("kind", ["nested", "lists"])
def test_ids_may_be_ragged(kind: str, imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    def ids(self: Clicks, batch: tuple[Tensor, Tensor]) -> dict[str, Any]:
        if kind == "lists":
            return {name: Ragged(batch[0].flatten(), torch.arange(len(batch[0])) * batch[0].shape[1]) for name in ("wide", "deep")}
        return {name: torch.nested.as_nested_tensor(list(batch[0]), layout=torch.jagged) for name in ("wide", "deep")}

    monkeypatch.setattr(imported, "ids", ids)
    entries = Entries(monkeypatch)
    train(job("sync", workers=1, stop={"steps": 4}))
    assert entries.lookups == {0: 1}


def test_ids_that_draw_random_numbers_leave_those_of_the_model(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    def ids(self: Clicks, batch: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        torch.rand(3)
        return {"wide": batch[0]}

    spec = job("sync", args={"draws": True}, stop={"steps": 5})
    plain = train(spec)
    monkeypatch.setattr(imported, "ids", ids)
    assert_same(plain, train(spec))


def test_what_is_wrong_with_ids_names_the_table_and_the_remedy(imported: type[Clicks], monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, words in (
        ({"widely": torch.tensor([1])}, "no table 'widely'; it has deep, wide; name one of them in ids()"),
        ({"deep": torch.tensor([1.0])}, "table 'deep': ids must be int64, but these are float32"),
        ({"deep": [1]}, "table 'deep': ids() must return a tensor of ids for it, not a list"),
    ):
        calls = iter([{"deep": torch.tensor([1])}, wrong])
        monkeypatch.setattr(imported, "ids", lambda self, batch, calls=calls: next(calls))
        with pytest.raises(UserError, match=r"failed in ids\(\)") as error:
            train(job("sync", workers=1, stop={"steps": 3}))
        assert words in str(error.value.__cause__)


def test_an_error_in_ids_ends_a_worker_only_when_it_trains_that_mini_batch(
    imported: type[Clicks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its push before that counts."""
    calls = iter(range(9))

    def ids(self: Clicks, batch: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        if next(calls) == 4:
            raise ValueError("no ids")
        return {"deep": batch[0]}

    monkeypatch.setattr(imported, "ids", ids)
    spec, seen = job("sync", workers=1, stop={"steps": 8}), list[int]()
    with pytest.raises(UserError, match=r"failed in ids\(\)"):
        train(spec, watch=lambda view: seen.append(view.samples), watch_every=1)
    assert seen[-1] == 4 * 32
