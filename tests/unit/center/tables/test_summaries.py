"""Summaries of a table, against plain numpy over all of its rows; and while pushes and shrinks go on between portions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from gradstream.center.tables.storage.contents import read_contents
from gradstream.center.tables.summaries import sweep
from gradstream.center.tables.summaries.kernels import AGES, HOTTEST, LOWEST, SCORES
from gradstream.center.tables.summaries.sweep import RowSummary, TableSweep
from gradstream.center.tables.table import EmbeddingTable
from gradstream.spec.tables import TableSpec

SCORED: dict[str, Any] = {"keep": {"decay": 0.75, "score": 0.01}, "score": {"unclicked": 0.25, "clicked": 2.0}}
UNSEEN: dict[str, Any] = {"keep": {"unseen": 30}}


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "PORTION", 64)


def table(spec: dict[str, Any]) -> EmbeddingTable:
    return EmbeddingTable("t", 2, TableSpec.model_validate({"rule": {"name": "sgd"}, **spec}), capacity=10_000)


def push(to: EmbeddingTable, keys: Any, draw: np.random.Generator) -> None:
    looked = to.look_up(np.asarray(keys))
    occurrences = draw.integers(1, 6, len(looked.keys))
    clicks = np.minimum(occurrences, draw.integers(0, 2, len(looked.keys))).astype(np.float32)
    to.push(looked.keys, looked.loans, np.ones((len(looked.keys), 2), np.float32), occurrences, clicks)


def live(to: EmbeddingTable, draw: np.random.Generator, passes: int = 12) -> None:
    """Keys by Zipf; in each pass some have their last push."""
    for number in range(passes):
        for _ in range(8):
            push(to, np.unique(draw.zipf(1.3, 400) % 700 + 20 * number), draw)
        to.shrink()


def summary(of: EmbeddingTable) -> RowSummary:
    made, portions = TableSweep(of), 0
    while not made.is_complete:
        made.read_portion()
        portions += 1
    assert portions > 20, "each reads a small part"
    return made.summary()


def age_bin(age: int) -> int:
    return 0 if age == 0 else min(AGES - 1, 1 + int(np.floor(np.log2(age))))


def score_bin(score: float) -> int:
    return 0 if score < 2.0**LOWEST else min(SCORES - 1, 1 + int(np.floor(np.log2(score))) - LOWEST)


@pytest.mark.few(3)
@pytest.mark.parametrize("spec", [SCORED, UNSEEN, SCORED | {"admit": {"count": 3}}, {}])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_summary_is_exact_while_nothing_changes(spec: dict[str, Any], seed: int) -> None:
    of = table(spec)
    live(of, np.random.default_rng(seed))
    found, rows = summary(of), read_contents(of)
    assert found.rows == of.alive == len(rows.keys) > 500
    assert dict(enumerate(found.ages)) == {n: 0 for n in range(AGES)} | Counter(age_bin(of.time - int(at)) for at in rows.seen)
    shows, clicks = rows.events[:, 0], rows.events[:, 1]
    heat = shows if of.spec.has_scores else rows.updates
    order = np.lexsort((rows.keys, -heat.astype(np.float64)))
    hottest = heat[order][:HOTTEST]
    assert [row.updates if row.shows is None else row.shows for row in found.hottest] == hottest.tolist()
    place = {int(key): i for i, key in enumerate(rows.keys)}
    for row in found.hottest:
        i = place[row.key]
        assert row.updates == rows.updates[i]
        if of.spec.has_scores:
            assert (row.shows, row.clicks) == (shows[i], clicks[i])
            assert row.score == pytest.approx(0.25 * (shows[i] - clicks[i]) + 2.0 * clicks[i], rel=1e-6)
    if of.spec.has_scores:
        scores = np.float32(0.25) * (shows - clicks) + np.float32(2.0) * clicks
        assert found.scores is not None
        assert dict(enumerate(found.scores)) == {n: 0 for n in range(SCORES)} | Counter(score_bin(float(s)) for s in scores)
    else:
        assert found.scores is None


def test_fewer_rows_than_are_listed_and_none_at_all() -> None:
    of = table({})
    push(of, [5, -7], np.random.default_rng(0))
    push(of, [5], np.random.default_rng(0))
    made = TableSweep(of)
    while not made.is_complete:
        made.read_portion()
    assert [(row.key, row.updates) for row in made.summary().hottest] == [(5, 2), (-7, 1)]
    assert summary(table({})).hottest == ()


def test_a_summary_changes_nothing() -> None:
    of = table(SCORED)
    live(of, np.random.default_rng(3), passes=2)
    before = read_contents(of).columns()
    summary(of)
    after = read_contents(of).columns()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@pytest.mark.more
def test_rows_that_come_and_go_meanwhile_are_never_confused() -> None:
    """Hot keys stay the hottest. Others are evicted, and their places are used again, between portions."""
    draw = np.random.default_rng(4)
    of = table({"keep": {"decay": 0.9, "score": 0.9}})
    hot = np.arange(1_000_000, 1_000_000 + HOTTEST)
    for _ in range(60):
        push(of, hot, draw)
    number, made = 0, TableSweep(of)
    while not made.is_complete:
        push(of, hot, draw)
        push(of, np.arange(number, number + 300), draw)
        of.shrink()
        number += 300
        made.read_portion()
    assert of.evicted_rows > 1000
    found = made.summary()
    assert sorted(row.key for row in found.hottest) == hot.tolist()
    rows = read_contents(of)
    shows = {int(key): float(events[0]) for key, events in zip(rows.keys, rows.events, strict=True)}
    assert all(row.shows == shows[row.key] for row in found.hottest)


def test_a_row_that_is_gone_before_its_key_is_found_is_left_out() -> None:
    of = table({"keep": {"unseen": 1}})
    draw = np.random.default_rng(5)
    push(of, np.arange(HOTTEST), draw)
    made = TableSweep(of)
    made.read_portion()
    of.shrink()
    push(of, np.arange(5, HOTTEST), draw)
    of.shrink()
    push(of, np.arange(100, 120), draw)  # in the places of those that are gone
    while not made.is_complete:
        made.read_portion()
    assert {row.key for row in made.summary().hottest} == set(range(5, HOTTEST))
